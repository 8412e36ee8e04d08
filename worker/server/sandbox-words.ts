// What of a module's text the sandbox of workflows does not have: built-in modules of Node that it imports, and globals that it uses. By the parser
// that also bundles it; types are stripped as Node strips them, so places stay what they are.
//
//   W1. A name that the module declares anywhere is its own. So is what it only asks the type of (`typeof process`).
//   W2. What is imported by a call is not looked at: that is how modules of activities are named.

import { builtinModules, createRequire, stripTypeScriptTypes } from 'node:module'

/** A place in a module, and what stands there. */
export interface SandboxWord {
  /** A module, such as `node:crypto`, or a global, such as `fetch`. */
  readonly what: 'import' | 'global'
  readonly name: string
  /** Both from 1. */
  readonly line: number
  readonly column: number
}

export interface ModuleWords {
  /** What it imports and exports from elsewhere, as it names it. */
  readonly imports: readonly string[]
  readonly missing: readonly SandboxWord[]
}

interface Node {
  readonly type: string
  readonly loc: { readonly start: { readonly line: number; readonly column: number } }
  readonly [field: string]: unknown
}

type Parse = (text: string, options: object) => Node

// The bundler's own, two packages down.
const requireOfWorker = createRequire(createRequire(import.meta.url).resolve('@temporalio/worker/package.json'))
const { parse } = createRequire(requireOfWorker.resolve('webpack/package.json'))('acorn') as { readonly parse: Parse }

// Source: @temporalio/worker, bundler.ts.
const IN_SANDBOX = new Set(['assert', 'url', 'util'])
const MISSING_MODULES = new Set(builtinModules.filter((name) => !IN_SANDBOX.has(name)))
const MISSING_GLOBALS = new Set([
  ...['fetch', 'process', 'Buffer', 'setInterval', 'setImmediate', 'crypto', 'performance', 'require'],
  ...['WebSocket', 'XMLHttpRequest', 'EventSource', '__dirname', '__filename'],
])

/** @returns undefined for a text that is none of the language: whoever loads it says what is wrong. */
export function sandboxWords(text: string, isTypeScript: boolean): ModuleWords | undefined {
  const program = parsed(text, isTypeScript)
  if (program === undefined) return undefined
  const imports: string[] = []
  const own = new Set<string>()
  const used: Node[] = []
  const missing: SandboxWord[] = []
  walk(program, (node) => {
    for (const name of declaredBy(node)) own.add(name)
    const source = sourceOf(node)
    if (source !== undefined) {
      imports.push(source)
      if (isMissingModule(source)) missing.push({ what: 'import', name: source, ...placeOf(node) })
    }
    used.push(...usedBy(node))
  })
  const globals = used.filter(({ name }) => MISSING_GLOBALS.has(String(name)) && !own.has(String(name)))
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

/** Node says at the first call that it is experimental; it loads the same modules so, without a word. */
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

// Fields that hold what a node declares: of variables, functions and classes, parameters, imports, catch.
const DECLARING = ['id', 'params', 'local', 'param'] as const

function declaredBy(node: Node): readonly string[] {
  if (node.type === 'ExportSpecifier') return []
  return DECLARING.flatMap((field) => [node[field]].flat().filter(isNode)).flatMap(namesIn)
}

/** The names that a pattern binds; those of its defaults, too, which is no harm. */
function namesIn(pattern: Node): readonly string[] {
  if (pattern.type === 'Identifier') return [String(pattern['name'])]
  return pattern.type.endsWith('Pattern') || pattern.type.endsWith('Element') || pattern.type === 'Property'
    ? childrenOf(pattern).flatMap(namesIn)
    : []
}

// Where an identifier is a name and no value.
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

/** The identifiers directly below a node that stand for a value (W1). */
function usedBy(node: Node): readonly Node[] {
  if (node.type === 'UnaryExpression' && node['operator'] === 'typeof') return []
  const naming = node['computed'] === true ? [] : (NAMING[node.type] ?? [])
  const fields = Object.entries(node).filter(([field]) => !naming.includes(field))
  return fields.flatMap(([, value]) => [value].flat().filter(isNode)).filter(({ type }) => type === 'Identifier')
}
