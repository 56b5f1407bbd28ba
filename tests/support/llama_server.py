"""A thin OpenAI-compatible server around the real llama.cpp library, for tests.

The library is the one that the npm package @node-llama-cpp/linux-x64 ships ready built; tests/llama/install.sh
fetches it. Loaded through ctypes: the functions used here take at most one structure by value, as their last
argument, so a structure that is larger than the library's own does no harm.
"""

import ctypes
import glob
import http.server
import json
import os
import threading
import time

ROOM = 4096  # bytes for structures whose exact size is the library's business


class Opaque(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * ROOM)]


class ContextParameters(ctypes.Structure):
    # The first members of llama_context_params, unchanged for years.
    _fields_ = [("n_ctx", ctypes.c_uint32), ("n_batch", ctypes.c_uint32), ("n_ubatch", ctypes.c_uint32),
                ("n_seq_max", ctypes.c_uint32), ("rest", ctypes.c_ubyte * ROOM)]


class Batch(ctypes.Structure):
    _fields_ = [("n_tokens", ctypes.c_int32), ("token", ctypes.c_void_p), ("embd", ctypes.c_void_p),
                ("pos", ctypes.c_void_p), ("n_seq_id", ctypes.c_void_p), ("seq_id", ctypes.c_void_p),
                ("logits", ctypes.c_void_p)]


LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


def binaries_folder():
    """Where the library is installed; None where it is not."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folder = os.environ.get("VRAMWISE_LLAMA_LIBRARY") or os.path.join(
        root, "tests", "llama", "node_modules", "@node-llama-cpp", "linux-x64", "bins", "linux-x64")
    return folder if glob.glob(os.path.join(folder, "libllama.*so")) else None


class Llama:
    """One model; a context for each answer. `log` collects what the library prints."""

    def __init__(self, folder, model, n_ctx=2048, n_batch=512):
        self.log, self.n_ctx, self.n_batch = [], n_ctx, n_batch
        self.lock = threading.Lock()

        def load(pattern):
            return ctypes.CDLL(glob.glob(os.path.join(folder, pattern))[0], mode=ctypes.RTLD_GLOBAL)
        load("libggml-base.so")
        ggml, self.llama = load("libggml.*so"), load("libllama.*so")
        lib = self.llama
        lib.llama_model_default_params.restype = Opaque
        lib.llama_context_default_params.restype = ContextParameters
        lib.llama_batch_get_one.restype = Batch
        for name in ("llama_model_load_from_file", "llama_init_from_model", "llama_model_get_vocab"):
            getattr(lib, name).restype = ctypes.c_void_p
        lib.llama_get_logits_ith.restype = ctypes.POINTER(ctypes.c_float)
        self.keep = LOG(lambda level, text, data: self.log.append(text.decode(errors="replace")))
        lib.llama_log_set(self.keep, None)
        ggml.ggml_backend_load_all_from_path(folder.encode())
        lib.llama_backend_init()
        self.model = lib.llama_model_load_from_file(str(model).encode(), lib.llama_model_default_params())
        if not self.model:
            raise RuntimeError("llama.cpp did not load the model:\n" + "".join(self.log)[-2000:])
        self.vocab = ctypes.c_void_p(lib.llama_model_get_vocab(ctypes.c_void_p(self.model)))
        self.size = lib.llama_vocab_n_tokens(self.vocab)
        self.close_context(self.context())  # its buffers are in the log once

    def context(self):
        parameters = self.llama.llama_context_default_params()
        parameters.n_ctx, parameters.n_batch, parameters.n_ubatch = self.n_ctx, self.n_batch, self.n_batch
        made = self.llama.llama_init_from_model(ctypes.c_void_p(self.model), parameters)
        if not made:
            raise RuntimeError("llama.cpp made no context")
        context = ctypes.c_void_p(made)
        self.llama.llama_set_n_threads(context, 1, 1)  # its threads spin while they wait
        return context

    def close_context(self, context):
        self.llama.llama_free(context)

    def tokens(self, text):
        data = text.encode()
        room = (ctypes.c_int32 * (len(data) + 8))()
        count = self.llama.llama_tokenize(self.vocab, data, len(data), room, len(room), ctypes.c_bool(True),
                                          ctypes.c_bool(False))
        return list(room[:count])

    def piece(self, token):
        room = ctypes.create_string_buffer(64)
        length = self.llama.llama_token_to_piece(self.vocab, token, room, 64, 0, ctypes.c_bool(False))
        return room.raw[:max(0, length)]

    def feed(self, context, tokens):
        """Runs the tokens; the likeliest next one that ends nothing."""
        for at in range(0, len(tokens), self.n_batch):
            part = tokens[at:at + self.n_batch]
            held = (ctypes.c_int32 * len(part))(*part)
            with self.lock:
                status = self.llama.llama_decode(context, self.llama.llama_batch_get_one(held, len(part)))
                if status != 0:
                    raise RuntimeError(f"llama_decode answered {status}")
                row = self.llama.llama_get_logits_ith(context, -1)
                best = max(range(3, self.size), key=lambda i: row[i])
        return best

    def generate(self, text, count):
        prompt = self.tokens(text)
        context = self.context()
        try:
            token = self.feed(context, prompt)
            for i in range(count):
                yield token
                if i + 1 < count:
                    token = self.feed(context, [token])
        finally:
            self.close_context(context)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, llama):
        super().__init__(("127.0.0.1", 0), Handler)
        self.llama, self.answered = llama, 0
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def plain(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/v1/models":
            return self.plain({"object": "list", "data": [{"id": "tiny", "object": "model", "owned_by": "llamacpp"}]})
        return self.plain({"error": {"message": "not found"}}, 404)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if self.path != "/v1/chat/completions":
            return self.plain({"error": {"message": "not found"}}, 404)
        llama, text = self.server.llama, " ".join(m["content"] for m in body["messages"])
        count = int(body.get("max_tokens", 16))
        prompt = len(llama.tokens(text))
        if prompt + count > llama.n_ctx:
            return self.plain({"error": {"message": f"{prompt + count} tokens are more than {llama.n_ctx}"}}, 400)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

        def event(value):
            data = b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n"
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
        try:
            for token in llama.generate(text, count):
                delta = {"content": llama.piece(token).decode("latin-1")}
                event({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            event({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
            event({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": count}})
            event(b"[DONE]")
            self.wfile.write(b"0\r\n\r\n")
            self.server.answered += 1
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        return None


if __name__ == "__main__":
    import sys
    server = Server(Llama(binaries_folder(), sys.argv[1]))
    print(server.url, flush=True)
    time.sleep(10**6)
