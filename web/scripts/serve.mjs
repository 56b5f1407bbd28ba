// Serves one file on loopback until it is stopped. serve.mjs FILE [PORT]
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [file, port = '8417'] = process.argv.slice(2);
const server = createServer((request, response) => {
  if (request.url.split(/[?#]/)[0] !== '/') {
    response.writeHead(404).end('only / is here\n');
    return;
  }
  // Read each time: a rebuilt page is there after a reload.
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  response.end(readFileSync(file));
});
server.on('error', (error) => {
  if (error.code === 'EADDRINUSE' && port !== '0') server.listen(0, '127.0.0.1');
  else throw error;
});
server.on('listening', () => console.log(`http://127.0.0.1:${server.address().port}/   (Ctrl-C stops it)`));
server.listen(Number(port), '127.0.0.1');
