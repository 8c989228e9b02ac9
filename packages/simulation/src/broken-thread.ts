import { registerHooks } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { BrokenProducer } from './broken-producers.ts';
import type { SeedRange } from './seed-range.ts';

/** Loads the producer with patches on its sources, and runs seeds until one notices. */
const { broken, range } = workerData as { readonly broken: BrokenProducer; readonly range: SeedRange };
const applied = new Set<string>();

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const patches = broken.patches.filter(({ file }) => url.endsWith(`/${file}`));
    if (patches.length === 0) return loaded;
    let source = String(loaded.source);
    for (const { file, find, replace } of patches) {
      const parts = source.split(find);
      if (parts.length !== 2) {
        throw new Error(
          `"${broken.name}" no longer fits ${file}: ${parts.length - 1} places read ${JSON.stringify(find)}`,
        );
      }
      source = parts.join(replace);
      applied.add(`${file} ${find}`);
    }
    return { ...loaded, source };
  },
});

const { runRange } = await import('./seed-range.ts');
const { seeds, failed } = await runRange(range);
if (applied.size !== broken.patches.length) throw new Error(`"${broken.name}": a patched file was never loaded`);
parentPort!.postMessage({ seeds, failed });
