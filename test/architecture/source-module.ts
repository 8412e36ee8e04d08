// Parses modules for the architecture test: their imports, their exports and a few expressions. It uses TypeScript's
// parser, so that it takes no comment or string for code.

import { readdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'

import ts from 'typescript'

export interface ModuleImport {
  /** The specifier as written. */
  readonly specifier: string
  /** Path from the root for a relative import; undefined for a package. */
  readonly target: string | undefined
  /** Erased before the code runs: `import type`, `export type`, `typeof import()`. */
  readonly typeOnly: boolean
  /** An `import()` call. A bundle of the module does not contain the imported module. */
  readonly called?: true
}

/** Something that only some modules may do. */
export type Deed = 'reads process.env' | 'has a main' | 'exports default' | 'exports *'

export interface SourceModule {
  readonly path: string
  /** The whole source text, including comments. */
  readonly text: string
  readonly imports: readonly ModuleImport[]
  readonly deeds: ReadonlySet<Deed>
}

/** Parses one module; `path` is relative to the root, with forward slashes. */
export function parseModule(path: string, text: string): SourceModule {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const imports: ModuleImport[] = []
  const deeds = new Set<Deed>()
  const visit = (node: ts.Node): void => {
    const found = importOf(node)
    if (found !== undefined) imports.push({ ...found, target: resolve(path, found.specifier) })
    const deed = deedOf(node)
    if (deed !== undefined) deeds.add(deed)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return { path, text, imports, deeds }
}

/** Parses all modules below the folders, ordered by path. */
export async function readModules(root: string, folders: readonly string[]): Promise<readonly SourceModule[]> {
  const paths = (await Promise.all(folders.map((folder) => modulePaths(root, folder)))).flat().sort()
  return await Promise.all(paths.map(async (path) => parseModule(path, await readFile(join(root, path), 'utf8'))))
}

async function modulePaths(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true, recursive: true }).catch(() => [])
  return entries
    .filter((entry) => entry.isFile() && /\.(?:ts|js)$/.test(entry.name))
    .map((entry) => posix.join(entry.parentPath.slice(root.length + 1).replaceAll('\\', '/'), entry.name))
    .filter((path) => !path.includes('node_modules/'))
}

function importOf(node: ts.Node): Omit<ModuleImport, 'target'> | undefined {
  if (ts.isImportDeclaration(node))
    return named(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword)
  if (ts.isExportDeclaration(node) && node.moduleSpecifier) return named(node.moduleSpecifier, node.isTypeOnly)
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return named(node.argument.literal, true)
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    const found = named(node.arguments[0], false)
    return found && { ...found, called: true }
  }
  return undefined
}

// Imports with a computed specifier are not checked. Only modules in worker/ have such imports.
function named(specifier: ts.Node | undefined, typeOnly: boolean) {
  return specifier !== undefined && ts.isStringLiteral(specifier) ? { specifier: specifier.text, typeOnly } : undefined
}

function deedOf(node: ts.Node): Deed | undefined {
  if (ts.isExportAssignment(node) || isDefaultModifier(node)) return 'exports default'
  if (ts.isExportDeclaration(node) && node.exportClause === undefined) return 'exports *'
  if (!ts.isPropertyAccessExpression(node)) return undefined
  const words = node.getText().replaceAll(/\s/g, '')
  if (words === 'process.env') return 'reads process.env'
  return ['import.meta.main', 'process.argv', 'process.exit', 'process.exitCode'].includes(words)
    ? 'has a main'
    : undefined
}

function isDefaultModifier(node: ts.Node): boolean {
  return (
    ts.canHaveModifiers(node) && (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)
  )
}

function resolve(from: string, specifier: string): string | undefined {
  return specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : undefined
}
