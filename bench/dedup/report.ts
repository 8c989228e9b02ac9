import type { Measured } from './turns.ts';

/** What ours is measured beside, and ours. */
export interface Comparison {
  readonly name: string;
  readonly other: Measured;
  readonly ours: Measured;
}

const whole = (value: number): string => Math.round(value).toLocaleString('en');

export function printRatios(title: string, comparisons: readonly Comparison[]): void {
  console.log(`\n${title}, keys a second\n\n| case | other | ours | share |\n| --- | ---: | ---: | ---: |`);
  for (const { name, other, ours } of comparisons) {
    const share = Math.round((100 * ours.unitsPerSecond) / other.unitsPerSecond);
    console.log(`| ${name} | ${whole(other.unitsPerSecond)} | ${whole(ours.unitsPerSecond)} | ${share} % |`);
  }
}

export function printTable(title: string, rows: readonly Readonly<Record<string, string | number>>[]): void {
  const columns = Object.keys(rows[0] ?? {});
  console.log(`\n${title}\n\n| ${columns.join(' | ')} |\n| ${columns.map(() => '---:').join(' | ')} |`);
  for (const row of rows) {
    const cells = columns.map((column) => (typeof row[column] === 'number' ? whole(row[column]) : row[column]));
    console.log(`| ${cells.join(' | ')} |`);
  }
}
