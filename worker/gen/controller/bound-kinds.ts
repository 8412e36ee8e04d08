// What the modules that a document binds say of its kinds: those that `defineKind` made, with their schemas.

import { pathToFileURL } from 'node:url'
import { resolve } from 'node:path'

import type { FieldSort, KindFacts, KindLookup } from '../../../workflows/kit/dsl/index.ts'
import { type JsonSchema, type Kind, openApiSchema } from '../../../workflows/kit/index.ts'
import { isKind } from '../kind-folders.ts'
import { kubernetesFacts } from './kubernetes-kinds.ts'

export interface BoundKinds {
  readonly lookup: KindLookup
  /** Modules that could not be read, with the reason: paths of their kinds are not checked. */
  readonly unread: readonly { readonly module: string; readonly reason: string }[]
}

/** Loads the modules that are bound by a path; packages are not looked into. `folder` is where the document lies. */
export async function readBoundKinds(modules: readonly string[], folder: string): Promise<BoundKinds> {
  const kinds: Kind[] = []
  const unread: { module: string; reason: string }[] = []
  for (const module of new Set(modules)) {
    if (!isPath(module)) continue
    try {
      const loaded = (await import(pathToFileURL(resolve(folder, module)).href)) as Record<string, unknown>
      kinds.push(...Object.values(loaded).filter(isKind))
    } catch (error) {
      unread.push({ module, reason: reasonOf(error) })
    }
  }
  const lookup: KindLookup = ({ groupVersion, kind }) => {
    const found = kinds.find((candidate) => candidate.apiVersion === groupVersion && candidate.kind === kind)
    return found === undefined ? kubernetesFacts(groupVersion, kind) : kindFacts(found)
  }
  return { lookup, unread }
}

/** Whether a module is named by its path, not as a package. */
export function isPath(module: string): boolean {
  return /^\.{0,2}\//.test(module)
}

/** What the schema of a kind says to a document. */
export function kindFacts(kind: Kind): KindFacts {
  const schema = openApiSchema(kind)
  return {
    fieldAt: (path) => sortAt(schema, path),
    namesBelow: (path) => Object.keys(below(schema, path)?.properties ?? {}).filter((name) => name !== 'metadata'),
    selectableFields: (kind.selectableFields ?? []).map((at) => at.join('.')),
    isNamespaced: true,
  }
}

function sortAt(schema: JsonSchema, path: readonly string[]): FieldSort | undefined {
  const found = below(schema, path)
  if (found === undefined) return undefined
  if (isOpen(found)) return 'anything'
  return found.type === 'string' ? 'text' : 'other'
}

function below(schema: JsonSchema, [name, ...rest]: readonly string[]): JsonSchema | undefined {
  if (name === undefined || isOpen(schema)) return schema
  const properties = schema.properties ?? {}
  const child = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties
  return child && below(child, rest)
}

function isOpen(schema: JsonSchema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true
}

/** Why a module could not be loaded, in a few words. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it throws'
  if ('code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return 'it, or a module that it imports, is not there'
  return error.message.split('\n', 1)[0] ?? ''
}
