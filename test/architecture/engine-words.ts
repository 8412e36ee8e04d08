// Words that engine code and its comments must not contain: names of API groups and of the specifications of wings.

import type { SourceModule } from './source-module.ts'

const ENGINE =
  /^(?:workflows\/(?:kit\/|index\.ts$)|activities\/(?:(?:kube|journal|run)\/|(?:deps|index)\.ts$)|worker\/)/
// The demonstration shows the first wing at work, with its examples: a program about a wing, of which the engine needs nothing.
const DEMONSTRATION = /^worker\/demo[./]/

const GROUPS = /gardener|datadoghq|foundationdb/gi
// Rules that the engine keeps have a name in the design; what a wing's specification says is the wing's. (The
// rules of chaos-mesh are for all controllers.)
const SPECIFICATIONS =
  /(?:spec\/(?:landscaper|chaos|foundationdb)|seeds\/(?:landscaper|chaos-controller|foundationdb))[\w.-]*/gi

/** Whether a module is of the engine, which knows no wing. */
export function isEngine(path: string): boolean {
  return ENGINE.test(path) && !DEMONSTRATION.test(path)
}

/** The words of wings that a module of the engine says, each once, one sentence each. */
export function foreignWords({ path, text }: Pick<SourceModule, 'path' | 'text'>): string[] {
  if (!isEngine(path)) return []
  const groups = [...text.matchAll(GROUPS)].map(([word]) => `${path} says ${word.toLowerCase()}`)
  const cited = [...text.matchAll(SPECIFICATIONS)].map(([file]) => `${path} cites ${file}`)
  return [...new Set([...groups, ...cited])]
}
