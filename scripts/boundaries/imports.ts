import { parseSync, Visitor } from 'oxc-parser';

export interface ImportedModule {
  readonly specifier: string;
  readonly line: number;
  /** Evaluated with the file that names it: not so where only types are taken, or another thread or process loads it. */
  readonly isEvaluated: boolean;
}

/**
 * Every module that a TypeScript source names: imports, re-exports, `import()`, `require()`, `typeof import()`, and `new URL('…', import.meta.url)`.
 * Throws when the source does not parse.
 */
export function importsOf(path: string, source: string): ImportedModule[] {
  const { program, errors } = parseSync(path, source, { lang: 'ts', sourceType: 'module' });
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]!.message}`);
  const found: ImportedModule[] = [];
  const lineOf = (offset: number) => source.slice(0, offset).split('\n').length;
  const add = (specifier: string, offset: number, isEvaluated: boolean) =>
    found.push({ specifier, line: lineOf(offset), isEvaluated });
  const text = (node: { type: string } | null | undefined): string | undefined => {
    const { value } = (node ?? {}) as { value?: unknown };
    return node?.type === 'Literal' && typeof value === 'string' ? value : undefined;
  };

  new Visitor({
    ImportDeclaration: (node) => {
      const names = node.specifiers;
      const typeOnly =
        node.importKind === 'type' ||
        (names.length > 0 && names.every((name) => name.type === 'ImportSpecifier' && name.importKind === 'type'));
      add(node.source.value, node.start, !typeOnly);
    },
    ExportNamedDeclaration: (node) => {
      if (node.source === null) return;
      const typeOnly = node.exportKind === 'type' || node.specifiers.every((name) => name.exportKind === 'type');
      add(node.source.value, node.start, !typeOnly);
    },
    ExportAllDeclaration: (node) => add(node.source.value, node.start, node.exportKind !== 'type'),
    TSImportType: (node) => add(node.source.value, node.start, false),
    ImportExpression: (node) => {
      const specifier = text(node.source);
      if (specifier !== undefined) add(specifier, node.start, true);
    },
    CallExpression: (node) => {
      if (node.callee.type !== 'Identifier' || node.callee.name !== 'require') return;
      const specifier = text(node.arguments[0]);
      if (specifier !== undefined) add(specifier, node.start, true);
    },
    NewExpression: (node) => {
      if (node.callee.type !== 'Identifier' || node.callee.name !== 'URL' || node.arguments.length !== 2) return;
      const specifier = text(node.arguments[0]);
      if (specifier?.startsWith('.')) add(specifier, node.start, false);
    },
  }).visit(program);
  return found;
}
