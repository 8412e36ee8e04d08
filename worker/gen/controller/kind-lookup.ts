// Facts about the kinds that a `.cm` document binds: whether a field exists, its type, and selectable fields. Sources are modules with `defineKind`,
// CustomResourceDefinitions, and Kubernetes' own kinds. A schema may come from any author, so the lookup accepts all shapes.

import { pathToFileURL } from 'node:url'
import { resolve } from 'node:path'
import type { KindFacts, KindLookup, KindName, FieldSort } from '../../../workflows/kit/dsl/index.ts'
import { type Kind, openApiSchema } from '../../../workflows/kit/index.ts'
import { isKind } from '../../server/kind-folders.ts'
import { kubernetesFields } from './kubernetes-kinds.ts'
import { kubernetesFacts } from './kubernetes-kinds.ts'
import { readCrdFile } from '../crd-types/crd-file.ts'
import { type Problem, problemText } from '../crd-types/problems.ts'

export interface BoundKinds {
  readonly lookup: KindLookup
  /** Modules that could not be loaded, with the reason. The compiler does not check field paths of their kinds. */
  readonly unread: readonly { readonly module: string; readonly reason: string }[]
}

export interface BindingDocument {
  /** The bound modules. Only modules with a path are loaded, no packages. */
  readonly modules: readonly string[]
  /** The folder of the document. */
  readonly folder: string
  /** Kinds whose fields the document uses. */
  readonly targets?: readonly KindName[]
}

/** Loads the modules of a document, and the fields of Kubernetes' own kinds for its targets. */
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

/** Whether a specifier is a path, not a package. */
export function isPath(module: string): boolean {
  return /^\.{0,2}\//.test(module)
}

/** The facts of a kind of `defineKind`. */
export function kindFacts(kind: Kind): KindFacts {
  const selectableFields = (kind.selectableFields ?? []).map((at) => at.join('.'))
  return schemaFacts(openApiSchema(kind), { selectableFields, isNamespaced: kind.scope !== 'Cluster' })
}

/** A short reason why a module could not be loaded. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it throws'
  if ('code' in error && error.code === 'ERR_MODULE_NOT_FOUND')
    return 'the module, or a module that it imports, does not exist'
  return error.message.split('\n', 1)[0] ?? ''
}

/** The facts about the kinds in a file of CustomResourceDefinitions, or the errors of the file. @param file its name in messages. */
export function crdKinds(
  text: string,
  file: string,
): { readonly lookup: KindLookup } | { readonly complaints: readonly string[] } {
  const { versions, problems } = readCrdFile(text)
  if (problems.length > 0) return { complaints: problems.map((problem: Problem) => problemText(file, problem)) }
  return {
    lookup: ({ groupVersion, kind }) => {
      const found = versions.find(
        (version) => `${version.group}/${version.version}` === groupVersion && version.kind === kind,
      )
      return found && schemaFacts(found.schema, found)
    },
  }
}

type Schema = Readonly<Record<string, unknown>>

/** The facts of a kind with this OpenAPI schema. */
export function schemaFacts(schema: unknown, known: Pick<KindFacts, 'selectableFields' | 'isNamespaced'>): KindFacts {
  return {
    fieldAt: (path) => sortAt(schema, path),
    namesBelow: (path) =>
      Object.keys(schemaAt(below(schema, path), 'properties')).filter((name) => name !== 'metadata'),
    ...known,
  }
}

function sortAt(schema: unknown, path: readonly string[]): FieldSort | undefined {
  const found = below(schema, path)
  if (!isSchema(found)) return undefined
  if (isOpen(found) || found['x-kubernetes-int-or-string'] === true) return 'anything'
  return found['type'] === 'string' ? 'text' : 'other'
}

function below(schema: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined || !isSchema(schema)) return schema
  const properties = schemaAt(schema, 'properties')
  if (Object.hasOwn(properties, name)) return below(properties[name], rest)
  // An object with x-kubernetes-preserve-unknown-fields may have undeclared fields.
  if (isOpen(schema)) return schema
  return isSchema(schema['additionalProperties']) ? below(schema['additionalProperties'], rest) : undefined
}

function schemaAt(schema: unknown, key: string): Schema {
  const found = isSchema(schema) ? schema[key] : undefined
  return isSchema(found) ? found : {}
}

function isOpen(schema: Schema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
