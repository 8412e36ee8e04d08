// Compiler for the controller language: converts the text of a `.cm` file to TypeScript or diagnostics. Reads no files and is never part of workflow
// bundles. docs/reference/controller-language.md describes the language.

import type { Document, Name, Selector, TemplatePart } from './ast.ts'
import { check } from './check.ts'
import { collector, type Diagnostic, inOrder } from './diagnostic.ts'
import { emit, type EmitOptions } from './emit.ts'
import { type KindLookup, type KindName, kubernetesGroupVersion } from './kind-facts.ts'
import { parse } from './parser.ts'

export { CODES, formatDiagnostic } from './diagnostic.ts'
export type { Code, Diagnostic, Severity, Span } from './diagnostic.ts'
export type { Document } from './ast.ts'
export type { EmitOptions } from './emit.ts'
export type { FieldSort, KindFacts, KindLookup, KindName } from './kind-facts.ts'
export { camelCase } from './names.ts'
export { print } from './print.ts'

export interface CompileOptions extends EmitOptions {
  /** Schemas of kinds; without it, target fields and field selectors are checked only as far as all kinds agree. */
  readonly lookup?: KindLookup
}

export interface Compiled {
  readonly document: Document
  /** In the order of the text. */
  readonly diagnostics: readonly Diagnostic[]
  /** Undefined after an error. */
  readonly code: string | undefined
}

/** Compiles a document. Never throws for any text. */
export function compile(text: string, options: CompileOptions): Compiled {
  const { report, diagnostics } = collector()
  const document = parse(text, report)
  const controllers = check(document, report, options.lookup)
  const isWrong = diagnostics.some(({ severity }) => severity === 'error')
  return { document, diagnostics: inOrder(diagnostics), code: isWrong ? undefined : emit(controllers, options) }
}

/** The modules that a document binds, as written; callers load them before compiling. */
export function boundModules(text: string): readonly string[] {
  return parse(text, () => undefined).binds.flatMap(({ module }) => (module.text === '' ? [] : [module.text]))
}

/** The kinds whose fields beyond metadata a document uses; callers provide their schemas. */
export function referredKinds(text: string): readonly KindName[] {
  const { aliases, declarations } = parse(text, () => undefined)
  const referring = declarations.filter(({ states }) =>
    states.some(({ selectors }) =>
      selectors.some(({ key, value }) => FROM.has(key.text) || value?.parts.some(isBeyondMetadata)),
    ),
  )
  const kindOf = ({ text: alias }: Name): readonly KindName[] => {
    const kind = aliases.find(({ name }) => name.text === alias)?.kind.text
    const own = kind === undefined ? kubernetesGroupVersion(alias) : undefined
    if (own !== undefined) return [{ groupVersion: own, kind: alias }]
    const slash = kind?.lastIndexOf('/') ?? -1
    return kind === undefined || slash === -1
      ? []
      : [{ groupVersion: kind.slice(0, slash), kind: kind.slice(slash + 1) }]
  }
  const picking = declarations.flatMap(({ states }) => states.filter(({ selectors }) => selectors.some(isPick)))
  return [...referring.map(({ target }) => target), ...picking.map(({ kind }) => kind)].flatMap(kindOf)
}

const isPick = ({ key }: Selector): boolean => key.text === 'pick'
const FROM = new Set(['labelsFrom', 'namespacesFrom'])

function isBeyondMetadata(part: TemplatePart): boolean {
  return 'reference' in part && /^target\.(?!metadata\.|Name$|Namespace$)/.test(part.reference)
}
