import { type CrashPoint, crashPoints, type Durability } from './crash-points.ts';

const COLUMNS: readonly (readonly [Durability, string])[] = [
  ['transaction', 'Postgres, PGlite'],
  ['lease', 'Redis'],
  ['memory', 'memory'],
];

/** The crash-point matrix as the README shows it: the effects in the end, and what the process that takes over sees. */
export function crashTable(): string {
  const rows = crashPoints.map((point) => row([point.name, ...COLUMNS.map(([durability]) => cell(point, durability))]));
  const names = ['the process dies', ...COLUMNS.map(([, name]) => name)];
  return [row(names), row(names.map(() => '---')), ...rows].join('\n');
}

function cell({ holds }: CrashPoint, durability: Durability): string {
  const { effects, outcome, why } = holds[durability];
  return `${effects === 1 ? '1' : `**${effects}**`}, ${outcome}: ${why}`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
