// A picture under a heading, with a button that swaps in a table of the same numbers.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

interface Props {
  id: string;
  title: string;
  picture: ComponentChildren;
  table: ComponentChildren;
  legend: ComponentChildren;
}

export function Figure({ id, title, picture, table, legend }: Props) {
  const [asTable, setAsTable] = useState(false);
  return (
    <section aria-labelledby={`h-${id}`}>
      <div class="sech">
        <h2 id={`h-${id}`}>{title}</h2>
        <div class="end"><button class="btn sm" aria-pressed={asTable} aria-label={`${title} as a table`} data-table={id} onClick={() => setAsTable(!asTable)}>Table</button></div>
      </div>
      <figure class="ch">{asTable ? <div class="tbl scroll" tabIndex={0} role="region" aria-label={`${title}, table`}>{table}</div> : <>{picture}<div class="key">{legend}</div></>}</figure>
    </section>
  );
}
