// The syntax tree of a document, as plain data with source positions. It is unchecked: names may be unknown, selectors misspelt. `print(parse(text))`
// returns the document in its usual form.

import type { Span } from './diagnostic.ts'

/** A word and its position; empty when it is missing, which the parser has reported. */
export interface Name {
  readonly text: string
  readonly at: Span
}

interface Documented {
  /** The lines of the preceding comment, without slashes. */
  readonly doc: readonly string[]
}

/** `bind batch/v1 ./batch.ts`: the module with the types of a group and version. */
export interface Bind extends Documented {
  readonly groupVersion: Name
  readonly module: Name
}

/** `alias Job batch/v1/Job`: a short name for a kind. */
export interface Alias extends Documented {
  readonly name: Name
  /** Group, version and kind. */
  readonly kind: Name
}

/** `decl Name for Kind as mode { ... }`: one controller, with the states and actions of all its sections in order. */
export interface Declaration extends Documented {
  readonly name: Name
  readonly target: Name
  /** Undefined without a mode. */
  readonly mode: Name | undefined
  readonly states: readonly StateDeclaration[]
  readonly actions: readonly ActionDeclaration[]
}

/** `jobs []Job { ... }`. */
export interface StateDeclaration extends Documented {
  readonly name: Name
  readonly many: boolean
  readonly kind: Name
  readonly selectors: readonly Selector[]
}

/** `labels/cronjob=${target.Name}`, `owned`. */
export interface Selector {
  readonly key: Name
  /** Undefined for a selector without `=`. */
  readonly value: Template | undefined
}

export interface Template {
  readonly parts: readonly TemplatePart[]
  readonly at: Span
}

export type TemplatePart = { readonly text: string } | Reference

/** `${target.metadata.name}`: the text between the braces and its position. */
export interface Reference {
  readonly reference: string
  readonly at: Span
}

/** `CleanUp(jobs)`. */
export interface ActionDeclaration extends Documented {
  readonly name: Name
  readonly states: readonly Name[]
}

export interface Document {
  readonly binds: readonly Bind[]
  readonly aliases: readonly Alias[]
  readonly declarations: readonly Declaration[]
}
