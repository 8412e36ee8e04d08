// What the modules that a document binds say of its kinds: those that `defineKind` made, with their schemas.

import { pathToFileURL } from 'node:url'
import { resolve } from 'node:path'

import type { KindFacts, KindLookup, KindName } from '../../../workflows/kit/dsl/index.ts'
import { type Kind, openApiSchema } from '../../../workflows/kit/index.ts'
import { isKind } from '../../server/kind-folders.ts'
import { kubernetesFields } from './kubernetes-fields.ts'
import { kubernetesFacts } from './kubernetes-kinds.ts'
import { schemaFacts } from './schema-facts.ts'

export interface BoundKinds {
  readonly lookup: KindLookup
  /** Modules that could not be read, with the reason: paths of their kinds are not checked. */
  readonly unread: readonly { readonly module: string; readonly reason: string }[]
}

export interface BindingDocument {
  /** As bound. Those that are a path are loaded; packages are not looked into. */
  readonly modules: readonly string[]
  /** Where the document lies. */
  readonly folder: string
  /** Kinds whose fields the document refers to. */
  readonly targets?: readonly KindName[]
}

/** Looks into the modules of a document, and for its targets into what is known of Kubernetes' own kinds. */
export async function readBoundKinds({ modules, folder, targets = [] }: BindingDocument): Promise<BoundKinds> {
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
  const kindOf = ({ groupVersion, kind }: KindName) =>
    kinds.find((candidate) => candidate.apiVersion === groupVersion && candidate.kind === kind)
  const fields = new Map<string, Awaited<ReturnType<typeof kubernetesFields>>>()
  for (const target of targets.filter((one) => kindOf(one) === undefined))
    fields.set(keyOf(target), await kubernetesFields(target.groupVersion, target.kind))
  const lookup: KindLookup = (name) => {
    const found = kindOf(name)
    if (found !== undefined) return kindFacts(found)
    const facts = kubernetesFacts(name.groupVersion, name.kind)
    return facts && { ...facts, ...fields.get(keyOf(name)) }
  }
  return { lookup, unread }
}

const keyOf = ({ groupVersion, kind }: KindName): string => `${groupVersion}/${kind}`

/** Whether a module is named by its path, not as a package. */
export function isPath(module: string): boolean {
  return /^\.{0,2}\//.test(module)
}

/** What the schema of a kind says to a document. */
export function kindFacts(kind: Kind): KindFacts {
  const selectableFields = (kind.selectableFields ?? []).map((at) => at.join('.'))
  return schemaFacts(openApiSchema(kind), { selectableFields, isNamespaced: kind.scope !== 'Cluster' })
}

/** Why a module could not be loaded, in a few words. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it throws'
  if ('code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return 'it, or a module that it imports, is not there'
  return error.message.split('\n', 1)[0] ?? ''
}
