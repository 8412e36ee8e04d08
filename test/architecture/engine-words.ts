// Finds words that engine code and its comments must not contain: names of API groups and of the specifications of
// wings.

import type { SourceModule } from './source-module.ts'

const ENGINE =
  /^(?:workflows\/(?:kit\/|index\.ts$)|activities\/(?:(?:kube|journal|run)\/|(?:deps|index)\.ts$)|worker\/)/
// The demo is not part of the engine: it shows the first wing with its examples.
const DEMONSTRATION = /^worker\/demo[./]/

const GROUPS = /gardener|datadoghq|foundationdb/gi
// The rules that the engine implements have names in the design. The rules of a wing's specification belong to the
// wing. (The rules of chaos-mesh are for all controllers.)
const SPECIFICATIONS =
  /(?:spec\/(?:landscaper|chaos|foundationdb)|seeds\/(?:landscaper|chaos-controller|foundationdb))[\w.-]*/gi

/** Whether a module belongs to the engine, which must not depend on a wing. */
export function isEngine(path: string): boolean {
  return ENGINE.test(path) && !DEMONSTRATION.test(path)
}

/** Returns a sentence for each distinct word of a wing in a module of the engine. */
export function foreignWords({ path, text }: Pick<SourceModule, 'path' | 'text'>): string[] {
  if (!isEngine(path)) return []
  // The import table checks imported paths: a generated list has the folder of each wing.
  const own = text.replaceAll(/ from '[^']*'/g, '')
  const groups = [...own.matchAll(GROUPS)].map(([word]) => `${path} says ${word.toLowerCase()}`)
  const cited = [...text.matchAll(SPECIFICATIONS)].map(([file]) => `${path} cites ${file}`)
  return [...new Set([...groups, ...cited])]
}
