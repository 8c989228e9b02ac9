/** `npm run bench`: each case in a process of its own, on one core where the system can hold it there. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { bars, benchCases, type Figures } from './cases.ts';

const oneCore = spawnSync('taskset', ['--version']).status === 0 ? ['taskset', '--cpu-list', '0'] : [];
const wanted = process.argv.slice(2);
const chosen = benchCases.filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)));
if (chosen.length === 0) {
  console.error(
    `No case has one of ${wanted.join(', ')} in its name. Cases: ${benchCases.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}

function run(name: string): Figures {
  const command = [
    ...oneCore,
    process.execPath,
    '--conditions=@sendonce/source',
    new URL('./run-case.ts', import.meta.url).pathname,
    name,
  ];
  return JSON.parse(execFileSync(command[0]!, command.slice(1), { encoding: 'utf8' })) as Figures;
}

const count = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const ms = (value: number | null): string => (value === null ? '' : value.toFixed(2));

console.log(
  `Node ${process.version}, ${cpus()[0]!.model.trim()}, ${oneCore.length > 0 ? 'held on one core' : `${cpus().length} cores`}\n`,
);
console.log('| case | records/s | CPU ns/record | p50 ms | p99 ms | heap MiB | buffers MiB |');
console.log('| --- | ---: | ---: | ---: | ---: | ---: | ---: |');
const all = new Map<string, Figures>();
for (const { name } of chosen) {
  const figures = run(name);
  all.set(name, figures);
  const { recordsPerSecond, cpuNsPerRecord, p50Ms, p99Ms, heapMiB, buffersMiB } = figures;
  console.log(
    `| ${name} | ${count.format(recordsPerSecond)} | ${count.format(cpuNsPerRecord)} | ${ms(p50Ms)} | ${ms(p99Ms)} | ${heapMiB.toFixed(0)} | ${buffersMiB.toFixed(0)} |`,
  );
}
if (chosen.length === benchCases.length) {
  console.log();
  for (const { what, holds } of bars) console.log(`${holds(all) ? 'holds ' : 'MISSED'}  ${what}`);
}
