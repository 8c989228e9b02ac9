import type { StormResult } from './results.ts';

const count = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const startMark = '<!-- tables of chaos/results.jsonl, made by npm run chaos:report -->';
const endMark = '<!-- end of the tables -->';

export function replaceBetweenMarks(page: string, tables: string): string {
  const from = page.indexOf(startMark);
  const to = page.indexOf(endMark);
  if (from < 0 || to < from) throw new Error(`The page must have the lines "${startMark}" and "${endMark}".`);
  return `${page.slice(0, from + startMark.length)}\n\n${tables}\n\n${page.slice(to)}`;
}

type Column = readonly [name: string, of: (result: StormResult) => number];

const columns: readonly Column[] = [
  ['sent', ({ audit }) => audit.sent],
  ['acknowledged', ({ audit }) => audit.acknowledged],
  ['failed, not stored', ({ audit }) => audit.failedNotStored],
  ['failed, unknown', ({ audit }) => audit.failedUnknown],
  ['pending', ({ audit }) => audit.pending],
  ['duplicates', ({ audit }) => audit.duplicates],
  ['lost', ({ audit }) => audit.lost],
  ['disorder', ({ audit }) => audit.disorder],
  ['wrong fates', ({ audit }) => audit.wrongFates],
  ['p50 ms', ({ audit }) => audit.latencyMs.p50],
  ['p99 ms', ({ audit }) => audit.latencyMs.p99],
  ['max ms', ({ audit }) => audit.latencyMs.max],
  ['longest pause ms', ({ audit }) => audit.longestPauseMs],
  ['recovery ms', ({ recoveryMs }) => recoveryMs],
  ['acknowledged/s in the storm', ({ acknowledgedPerSecond }) => acknowledgedPerSecond],
  ['spans that did not end', ({ openSpans }) => openSpans],
];

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const text = (cell: string | number) => (typeof cell === 'number' ? count.format(cell) : cell);
  const line = (cells: readonly (string | number)[]) => `| ${cells.map(text).join(' | ')} |`;
  const [first, ...others] = head;
  return [line(head), line([first === undefined ? '' : '---', ...others.map(() => '---:')]), ...rows.map(line)].join(
    '\n',
  );
}

const settings = ({ client, requestTimeoutMs, minutes, rate }: StormResult) =>
  [
    client,
    requestTimeoutMs === undefined ? 'default' : count.format(requestTimeoutMs),
    count.format(minutes * 60),
    count.format(rate),
  ] as const;

function groupBySettings(results: readonly StormResult[]): StormResult[][] {
  const groups = new Map<string, StormResult[]>();
  for (const result of results) {
    const key = settings(result).join();
    groups.set(key, [...(groups.get(key) ?? []), result]);
  }
  return [...groups.values()].map((group) => group.toSorted((a, b) => a.seed - b.seed));
}

/** Sums of what is counted, the worst of what is measured in time, the least of what is wanted. */
function summaryRow(group: readonly StormResult[]): (string | number)[] {
  const worst = columns.map(([name, of]) => {
    const figures = group.map(of);
    if (name.endsWith('storm')) return Math.min(...figures);
    return name.endsWith('ms') ? Math.max(...figures) : figures.reduce((sum, figure) => sum + figure, 0);
  });
  return [...settings(group[0]!), count.format(group.length), ...worst];
}

function faultKinds(results: readonly StormResult[]): string[] {
  return [...new Set(results.flatMap(({ faults }) => Object.keys(faults)))].sort();
}

/** All clients in one table, then each storm of each client. */
export function stormTables(results: readonly StormResult[]): string {
  const groups = groupBySettings(results);
  const names = columns.map(([name]) => name);
  const head = ['client', 'request timeout ms', 'seconds', 'records/s', 'seeds'];
  const parts = [
    '## All clients',
    'Counts are sums over the seeds, times the worst of them, acknowledged/s the least.',
    table([...head, ...names], groups.map(summaryRow)),
  ];
  for (const group of groups) {
    const [client, timeout, seconds, rate] = settings(group[0]!);
    const kinds = faultKinds(group);
    parts.push(
      `## ${client}, request timeout ${timeout}: each storm of ${seconds} s at ${rate} records/s`,
      table(
        ['seed', ...names],
        group.map((result) => [`${result.seed}`, ...columns.map(([, of]) => of(result))]),
      ),
      'Faults:',
      table(
        ['seed', ...kinds],
        group.map(({ seed, faults }) => [`${seed}`, ...kinds.map((kind) => faults[kind] ?? 0)]),
      ),
    );
  }
  return parts.join('\n\n');
}
