import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface Asset {
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** The page's files, read once. Nothing but these names is ever looked up. */
export function readAssets(): ReadonlyMap<string, Asset> {
  const folder = join(import.meta.dirname, 'assets');
  const assets = new Map<string, Asset>();
  for (const name of readdirSync(folder)) {
    const contentType = contentTypes[extname(name)];
    if (contentType !== undefined) assets.set(name, { contentType, bytes: readFileSync(join(folder, name)) });
  }
  return assets;
}
