// Finds uses of APIs that Temporal's workflow sandbox lacks, such as `fetch` or `node:fs`, in the modules of
// controllers (`--controllers`), with file and line, before a worker bundles the modules. Without this check, the error
// would have no place, or would occur in the middle of a pass (one reconcile, which runs in the sandbox). Packages are
// not checked: they usually test for an API before they use it.
//
//   W1. A name that the module declares anywhere is not a global. `typeof process` is not a use.
//   W2. Dynamic imports are ignored: in the modules of controllers they refer to modules of activities
//       (docs/guides/own-activities.md), which do not run in the sandbox.

import { existsSync, readFileSync } from 'node:fs'
import { builtinModules, createRequire, stripTypeScriptTypes } from 'node:module'
import { dirname, extname, resolve } from 'node:path'

// The recommendation of the message, by name of the API. A controller returns the outcome `later(ms)` to continue and run its next pass
// in `ms` milliseconds; `again(ms)` ends the sequence of actions first.
const INSTEAD: Readonly<Record<string, string>> = {
  fetch: 'call it in an activity of the controller (docs/guides/own-activities.md)',
  process:
    'put settings into fields of the object, or read them in an activity of the controller (docs/guides/own-activities.md)',
  setInterval: 'return later(ms) or again(ms)',
  setImmediate: 'return again(0)',
  performance: 'take pass.now',
  crypto: 'use contentHash, or an activity of the controller (docs/guides/own-activities.md)',
  Buffer: 'use TextEncoder and TextDecoder, or an activity of the controller (docs/guides/own-activities.md)',
  require: 'import it',
}
const ACTIVITY = 'use it in an activity of the controller (docs/guides/own-activities.md)'

/**
 * Checks the files and all files of the same project that they import.
 *
 * @param files absolute paths.
 * @returns one line for each use, in the order of the files; empty without problems.
 */
export function sandboxProblems(files: readonly string[]): readonly string[] {
  const seen = new Set(files)
  const problems: string[] = []
  // The set grows during the iteration.
  for (const file of seen) {
    const words = findUnavailableNames(readFileSync(file, 'utf8'), TYPESCRIPT.test(file))
    if (words === undefined) continue
    problems.push(...words.missing.map((word) => problemOf(file, word)))
    for (const path of words.imports.flatMap((source) => fileOf(file, source))) seen.add(path)
  }
  return problems
}

const TYPESCRIPT = /\.[cm]?ts$/
const CODE = new Set(['.ts', '.mts', '.js', '.mjs'])

function problemOf(file: string, { what, name, line, column }: UnavailableName): string {
  const found = what === 'import' ? `imports ${name}` : `uses ${name}`
  const instead = INSTEAD[name.replace(/^node:/, '')] ?? ACTIVITY
  return `${file}:${line}:${column}: ${found}, which is not available in passes; ${instead}`
}

/** Files of the same project only: relative paths with extension, as Node requires. */
function fileOf(from: string, source: string): readonly string[] {
  if (!/^\.{1,2}\//.test(source)) return []
  const path = resolve(dirname(from), source)
  return CODE.has(extname(path)) && existsSync(path) ? [path] : []
}

// The analysis of one module (W1, W2). Uses the bundler's parser; Node strips the types and keeps all positions.

/** A use of a module or global that the sandbox lacks. */
export interface UnavailableName {
  /** A module, such as `node:crypto`, or a global, such as `fetch`. */
  readonly what: 'import' | 'global'
  readonly name: string
  /** Both start at 1. */
  readonly line: number
  readonly column: number
}

export interface ModuleNames {
  /** The specifiers of all its imports and re-exports. */
  readonly imports: readonly string[]
  /** The uses of modules and globals that the sandbox lacks. */
  readonly missing: readonly UnavailableName[]
}

interface Node {
  readonly type: string
  readonly loc: { readonly start: { readonly line: number; readonly column: number } }
  readonly [field: string]: unknown
}

type Parse = (text: string, options: object) => Node

// acorn, as webpack declares it, which is a dependency of @temporalio/worker.
const requireOfWorker = createRequire(createRequire(import.meta.url).resolve('@temporalio/worker/package.json'))
const { parse } = createRequire(requireOfWorker.resolve('webpack/package.json'))('acorn') as { readonly parse: Parse }

// Source: @temporalio/worker, bundler.ts.
const IN_SANDBOX = new Set(['assert', 'url', 'util'])
const MISSING_MODULES = new Set(builtinModules.filter((name) => !IN_SANDBOX.has(name)))
const MISSING_GLOBALS = new Set([
  ...['fetch', 'process', 'Buffer', 'setInterval', 'setImmediate', 'crypto', 'performance', 'require'],
  ...['WebSocket', 'XMLHttpRequest', 'EventSource', '__dirname', '__filename'],
])

/** @returns undefined for invalid syntax: the error of the import is clearer. */
export function findUnavailableNames(text: string, isTypeScript: boolean): ModuleNames | undefined {
  const program = parsed(text, isTypeScript)
  if (program === undefined) return undefined
  const imports: string[] = []
  const declared = new Set<string>()
  const uses: Node[] = []
  const missing: UnavailableName[] = []
  walk(program, (node) => {
    for (const name of declaredBy(node)) declared.add(name)
    const source = sourceOf(node)
    if (source !== undefined) {
      imports.push(source)
      if (isMissingModule(source)) missing.push({ what: 'import', name: source, ...placeOf(node) })
    }
    uses.push(...usedBy(node))
  })
  const globals = uses.filter(({ name }) => MISSING_GLOBALS.has(String(name)) && !declared.has(String(name)))
  missing.push(...globals.map((node) => ({ what: 'global' as const, name: String(node['name']), ...placeOf(node) })))
  return { imports, missing: missing.sort((left, right) => left.line - right.line || left.column - right.column) }
}

function parsed(text: string, isTypeScript: boolean): Node | undefined {
  try {
    const source = isTypeScript ? stripped(text) : text
    return parse(source, { ecmaVersion: 'latest', sourceType: 'module', locations: true, allowHashBang: true })
  } catch {
    return undefined
  }
}

/** Suppresses Node's warning that the function is experimental; Node loads the same modules without a warning. */
function stripped(text: string): string {
  const before = Object.getOwnPropertyDescriptor(process, 'emitWarning')
  process.emitWarning = () => undefined
  try {
    return stripTypeScriptTypes(text)
  } finally {
    if (before !== undefined) Object.defineProperty(process, 'emitWarning', before)
  }
}

function isMissingModule(source: string): boolean {
  const [name = ''] = source.replace(/^node:/, '').split('/')
  // Some modules, such as `node:test`, exist only with the prefix.
  return source.startsWith('node:') ? !IN_SANDBOX.has(name) : MISSING_MODULES.has(name)
}

function placeOf({ loc: { start } }: Node): { readonly line: number; readonly column: number } {
  return { line: start.line, column: start.column + 1 }
}

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node)
  for (const child of childrenOf(node)) walk(child, visit)
}

function childrenOf(node: Node): readonly Node[] {
  return Object.values(node).flat().filter(isNode)
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'loc' in value
}

const FROM = new Set(['ImportDeclaration', 'ExportNamedDeclaration', 'ExportAllDeclaration'])

function sourceOf({ type, source }: Node): string | undefined {
  if (!FROM.has(type) || !isNode(source)) return undefined
  return typeof source['value'] === 'string' ? source['value'] : undefined
}

// Fields with declarations: of variables, functions and classes, parameters, imports, catch.
const DECLARING = ['id', 'params', 'local', 'param'] as const

function declaredBy(node: Node): readonly string[] {
  if (node.type === 'ExportSpecifier') return []
  return DECLARING.flatMap((field) => [node[field]].flat().filter(isNode)).flatMap(namesIn)
}

/** The names that a pattern binds. Keys and default values bind nothing. */
function namesIn(pattern: Node): readonly string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [String(pattern['name'])]
    case 'AssignmentPattern':
      return [pattern['left']].filter(isNode).flatMap(namesIn)
    case 'Property':
      return [pattern['value']].filter(isNode).flatMap(namesIn)
    case 'ArrayPattern':
    case 'ObjectPattern':
    case 'RestElement':
      return childrenOf(pattern).flatMap(namesIn)
    default:
      return []
  }
}

// Fields in which an identifier is a name and not a value.
const NAMING: Readonly<Record<string, readonly string[]>> = {
  MemberExpression: ['property'],
  Property: ['key'],
  MethodDefinition: ['key'],
  PropertyDefinition: ['key'],
  ImportSpecifier: ['imported', 'local'],
  ExportSpecifier: ['local', 'exported'],
  LabeledStatement: ['label'],
  BreakStatement: ['label'],
  ContinueStatement: ['label'],
  MetaProperty: ['meta', 'property'],
}

/** The identifiers directly below a node that are values (W1). */
function usedBy(node: Node): readonly Node[] {
  if (node.type === 'UnaryExpression' && node['operator'] === 'typeof') return []
  const naming = node['computed'] === true ? [] : (NAMING[node.type] ?? [])
  const fields = Object.entries(node).filter(([field]) => !naming.includes(field))
  return fields.flatMap(([, value]) => [value].flat().filter(isNode)).filter(({ type }) => type === 'Identifier')
}
