import { runSeed } from './run-seed.ts';

const [from = '0', count = '20'] = process.argv.slice(2);
const traced = process.argv.includes('--trace');
const start = performance.now();
let steps = 0,
  records = 0;
for (let seed = Number(from); seed < Number(from) + Number(count); seed++) {
  const result = await runSeed({ seed, traced });
  steps += result.steps;
  records += result.records;
  if (traced) console.log(result.trace.join('\n'));
  if (result.violations.length > 0) console.log(seed, result.plan.cluster.profile, result.violations.slice(0, 4));
}
console.log({
  ms: (performance.now() - start) / Number(count),
  steps: steps / Number(count),
  records: records / Number(count),
});
