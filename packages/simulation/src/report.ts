import type { Coverage } from './coverage.ts';
import { expectedCoverage } from './expected-coverage.ts';
import type { Mode, ProfileName } from './plan.ts';
import type { FailedSeed, RangeResult } from './seed-range.ts';

const violationsShown = 5;

/** The command that runs a seed again, with its story. */
export function replayCommand(seed: number, mode: Mode, profile: ProfileName | undefined): string {
  const options = [mode === 'clean' ? '' : ` --mode ${mode}`, profile === undefined ? '' : ` --profile ${profile}`];
  return `npm run sim -- --seed ${seed}${options.join('')} --trace`;
}

export function describeFailure(
  { seed, violations }: FailedSeed,
  mode: Mode,
  profile: ProfileName | undefined,
): string {
  const shown = violations.slice(0, violationsShown).map(({ property, message }) => `  ${property}: ${message}`);
  const more = violations.length - shown.length;
  return [
    `seed ${seed} breaks ${violations.length} ${violations.length === 1 ? 'promise' : 'promises'}:`,
    ...shown,
    ...(more > 0 ? [`  and ${more} more`] : []),
    `  again: ${replayCommand(seed, mode, profile)}`,
  ].join('\n');
}

/** What a run should have reached and did not. */
export function gapsIn(coverage: Coverage, mode: Mode): string[] {
  return expectedCoverage(mode).filter((what) => !coverage.counts.has(what));
}

export function describeCoverage(coverage: Coverage, mode: Mode): string {
  const lines: string[] = [];
  let group = '';
  for (const [what, count] of [...coverage.counts].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const [prefix = '', name = what] = what.split(/: (.*)/);
    if (prefix !== group) lines.push(`\n${prefix}`);
    group = prefix;
    lines.push(`${String(count).padStart(12)}  ${name}`);
  }
  const gaps = gapsIn(coverage, mode);
  lines.push(gaps.length === 0 ? '\nEverything that is expected was reached.' : `\nNever reached: ${gaps.join('; ')}`);
  return lines.join('\n');
}

export function describeResult({ seeds, records, steps, failed }: RangeResult, seconds: number): string {
  const perSeed = ((seconds * 1000) / Math.max(1, seeds)).toFixed(1);
  return `${seeds} seeds, ${records} records, ${steps} steps, ${seconds.toFixed(1)} s (${perSeed} ms a seed), ${failed.length} failed`;
}
