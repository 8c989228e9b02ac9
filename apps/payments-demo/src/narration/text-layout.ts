import type { Cell, Table } from './script.ts';

/** Breaks a paragraph into lines of at most `width` characters, at spaces; a longer word gets a line of its own. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return line === '' ? lines : [...lines, line];
}

/** Columns as wide as their widest cell, two spaces apart; numbers to the right. The first line has the columns' names. */
export function tableLines({ columns, rows }: Pick<Table, 'columns' | 'rows'>): string[] {
  const cells = rows.map((row) => columns.map((_, index) => textOf(row[index])));
  const widths = columns.map((name, index) => Math.max(name.length, ...cells.map((row) => row[index]!.length)));
  const isNumeric = columns.map((_, index) => rows.length > 0 && rows.every((row) => typeof row[index] !== 'string'));
  const lineOf = (row: readonly string[]) =>
    row
      .map((cell, index) => (isNumeric[index] ? cell.padStart(widths[index]!) : cell.padEnd(widths[index]!)))
      .join('  ')
      .trimEnd();
  return [columns, ...cells].map(lineOf);
}

const textOf = (cell: Cell | undefined): string =>
  typeof cell === 'number' ? cell.toLocaleString('en-US', { useGrouping: cell >= 10_000 }) : String(cell ?? '');
