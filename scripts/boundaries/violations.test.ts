import { describe, expect, it } from 'vitest';
import type { Manifest, Workspace } from '../workspaces.ts';
import { firstCycle } from './cycles.ts';
import type { PackageRule } from './rules.ts';
import { boundaryViolations } from './violations.ts';

const manifest = (name: string, rest: Partial<Manifest> = {}): Manifest => ({ name, version: '1.0.0', ...rest });

const workspaces: Workspace[] = [
  { folder: 'packages/core', manifest: manifest('@x/core', { exports: { '.': './a.js', './contract': './b.js' } }) },
  {
    folder: 'packages/wire',
    manifest: manifest('@x/wire', {
      exports: { '.': './a.js' },
      dependencies: { '@x/core': '^1.0.0' },
      devDependencies: { 'fake-broker': '^1.0.0' },
    }),
  },
];
const rules: Record<string, PackageRule> = {
  '@x/core': { imports: ['crc'] },
  '@x/wire': { imports: ['@x/core/contract'] },
};

function violationsOf(path: string, source: string, others: Record<string, string> = {}): string[] {
  const files = Object.entries({ [path]: source, ...others }).map(([path, source]) => ({ path, source }));
  return boundaryViolations({ rules, workspaces, files, rootDependencies: ['vitest'] });
}

describe('package boundaries', () => {
  it.each([
    ['an allowed subpath', `import { a } from '@x/core/contract';`],
    ['a file of its own', `import { a } from './b.ts';`],
    ["Node's own modules", `import { readFile } from 'node:fs/promises';`],
  ])('%s may be imported', (_what, source) => {
    expect(violationsOf('packages/wire/src/a.ts', source)).toEqual([]);
  });

  it.each([
    ['an import', `import { a } from 'kafkajs';`],
    ['a type import', `import type { a } from 'kafkajs';`],
    ['a re-export', `export { a } from 'kafkajs';`],
    ['a re-export of everything', `export * from 'kafkajs';`],
    ['a dynamic import', `await import('kafkajs');`],
    ['a require', `require('kafkajs');`],
    ['an import type', `let a: typeof import('kafkajs');`],
  ])('a client library in the core is refused: %s', (_what, source) => {
    expect(violationsOf('packages/core/src/a.ts', `\n${source}`)).toEqual([
      expect.stringMatching(/^packages\/core\/src\/a\.ts:2: @x\/core may not import kafkajs/),
    ]);
  });

  it('an export of a permitted package is still refused when its rule does not name it', () => {
    expect(violationsOf('packages/wire/src/a.ts', `import '@x/core';`)).toEqual([
      expect.stringContaining('@x/wire may not import @x/core '),
    ]);
  });

  it.each(['@x/core/src/a.ts', '@x/core/dist/a.js'])(
    'another package is reached through its exports only: %s',
    (specifier) => {
      expect(violationsOf('packages/wire/test/a.ts', `import '${specifier}';`)).toEqual([
        expect.stringContaining('not among the exports of @x/core'),
      ]);
    },
  );

  it('the fuzzer alone may reach inside, since it works on decoders that no package exports', () => {
    const source = `import '../../packages/core/src/a.ts';`;
    expect(violationsOf('scripts/fuzz/targets.ts', source)).toEqual([]);
    expect(violationsOf('scripts/other/main.ts', source)).toEqual([
      expect.stringContaining('reaches into packages/core by path'),
    ]);
  });

  it.each([`import '../../core/src/a.ts';`, `new URL('../../core/src/worker.ts', import.meta.url);`])(
    'no path leads into another package: %s',
    (source) => {
      expect(violationsOf('packages/wire/test/a.ts', source)).toEqual([
        expect.stringContaining('reaches into packages/core by path'),
      ]);
    },
  );

  it('no path leads out of a package', () => {
    expect(violationsOf('packages/wire/src/a.ts', `import '../../../scripts/a.ts';`)).toEqual([
      expect.stringContaining('leaves its package by path'),
    ]);
  });

  it('a test may import what its package lists, and tools of the repository, and nothing else', () => {
    const source = `import 'fake-broker'; import 'vitest'; import 'left-pad';`;
    expect(violationsOf('packages/wire/src/a.test.ts', source)).toEqual([
      expect.stringContaining('a test imports left-pad'),
    ]);
  });

  it('shipped code may not import what only tests may', () => {
    expect(violationsOf('packages/wire/src/a.ts', `import 'fake-broker'; import './b.test.ts';`)).toEqual([
      expect.stringContaining('may not import fake-broker'),
      expect.stringContaining('shipped code imports test code'),
    ]);
  });

  it('a cycle of files is refused, unless types alone go round', () => {
    const back = { 'packages/core/src/b.ts': `import './a.ts';` };
    expect(violationsOf('packages/core/src/a.ts', `import { b } from './b.ts';`, back)).toEqual([
      expect.stringContaining('packages/core/src/a.ts → packages/core/src/b.ts → packages/core/src/a.ts'),
    ]);
    expect(violationsOf('packages/core/src/a.ts', `import type { b } from './b.ts';`, back)).toEqual([]);
  });

  it('a file may start a thread that imports it back', () => {
    const back = { 'packages/core/src/b.ts': `import './a.ts';` };
    expect(violationsOf('packages/core/src/a.ts', `new URL('./b.ts', import.meta.url);`, back)).toEqual([]);
    expect(violationsOf('packages/core/src/a.ts', `await import('./b.ts');`, back)).toHaveLength(1);
  });

  it('a manifest may not depend on what the code may not import', () => {
    const core = {
      folder: 'packages/core',
      manifest: manifest('@x/core', { dependencies: { '@x/wire': '^1.0.0', crc: '^1.0.0' } }),
    };
    const violations = boundaryViolations({
      rules,
      workspaces: [core, workspaces[1]!],
      files: [],
      rootDependencies: [],
    });
    expect(violations).toEqual([
      expect.stringContaining('@x/core may not depend on @x/wire'),
      expect.stringContaining('a cycle of packages: @x/core → @x/wire → @x/core'),
    ]);
  });

  it('a package without a row in the rules is refused', () => {
    const stranger = { folder: 'packages/new', manifest: manifest('@x/new') };
    expect(boundaryViolations({ rules, workspaces: [stranger], files: [], rootDependencies: [] })).toEqual([
      expect.stringContaining('@x/new has no row'),
    ]);
  });

  it('a source that does not parse is an error, not a file without imports', () => {
    expect(() => violationsOf('packages/core/src/a.ts', 'import {')).toThrow(/packages\/core\/src\/a\.ts/);
  });
});

describe('cycles', () => {
  it('a diamond is none', () => {
    const graph = new Map([
      ['a', new Set(['b', 'c'])],
      ['b', new Set(['d'])],
      ['c', new Set(['d'])],
    ]);
    expect(firstCycle(graph)).toBeUndefined();
  });

  it('one that does not contain the start is found', () => {
    const graph = new Map([
      ['a', new Set(['b'])],
      ['b', new Set(['c'])],
      ['c', new Set(['b'])],
    ]);
    expect(firstCycle(graph)).toEqual(['b', 'c', 'b']);
  });
});
