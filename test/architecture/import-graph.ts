// The modules as a graph of their imports.

import type { SourceModule } from './source-module.ts'

/** Each import cycle once, as `a -> b -> a`; types count, because they tie modules together just as well. */
export function importCycles(modules: readonly SourceModule[]): string[] {
  const targets = new Map(modules.map(({ path, imports }) => [path, imports.flatMap(({ target }) => target ?? [])]))
  const finished = new Set<string>()
  const cycles: string[] = []
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start !== -1) cycles.push([...trail.slice(start), path].join(' -> '))
    if (start !== -1 || finished.has(path)) return
    for (const target of targets.get(path) ?? []) walk(target, [...trail, path])
    finished.add(path)
  }
  for (const { path } of modules) walk(path, [])
  return cycles
}

/** All modules that a module needs at run time, itself included. */
export function runtimeClosure(modules: readonly SourceModule[], from: string): ReadonlySet<string> {
  const byPath = new Map(modules.map((module) => [module.path, module]))
  const reached = new Set<string>()
  const walk = (path: string): void => {
    if (reached.has(path)) return
    reached.add(path)
    for (const { target, typeOnly, called = false } of byPath.get(path)?.imports ?? []) {
      // Workflows make no such call, they name what the worker is to load.
      const isNeeded = !typeOnly && !(called && path.startsWith('workflows/'))
      if (target !== undefined && isNeeded) walk(target)
    }
  }
  walk(from)
  return reached
}

/** The packages that a program loads before its first call of `import`. */
export function packagesAtStart(modules: readonly SourceModule[], main: string): readonly string[] {
  const atStart = modules.map((module) => ({
    ...module,
    imports: module.imports.filter(({ called }) => called !== true),
  }))
  const closure = runtimeClosure(atStart, main)
  const loaded = atStart
    .filter(({ path }) => closure.has(path))
    .flatMap(({ imports }) => imports.filter(({ target, typeOnly }) => target === undefined && !typeOnly))
    .map(({ specifier }) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'))
  return [...new Set(loaded)].filter((name) => !name.startsWith('node:')).sort()
}
