// Reads the field declarations of all controllers and compares fields with them. docs/concepts/fields.md lists exceptions.

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OwnedFields } from '../../../workflows/kit/index.ts'
import type { KubeObject } from '../../../activities/kube/client.ts'
import { readKindFolders } from '../../../worker/server/kind-folders.ts'
import { section } from '../../docs/markdown.ts'

type Path = readonly string[]

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** The declaration of each folder with a plan.ts and a controller.ts, by folder; undefined if fields.ts is missing. */
export async function declarations(): Promise<ReadonlyMap<string, OwnedFields | undefined>> {
  const folders = (await readKindFolders(ROOT))
    .map(({ folder }) => folder)
    .filter((folder) => existsSync(file(folder, 'plan.ts')) && existsSync(file(folder, 'controller.ts')))
  const found = folders.map(async (folder) => {
    if (!existsSync(file(folder, 'fields.ts'))) return [folder, undefined] as const
    const module = (await import(file(folder, 'fields.ts'))) as Record<string, OwnedFields>
    return [folder, Object.values(module)[0]] as const
  })
  return new Map(await Promise.all(found))
}

const file = (folder: string, name: string): string => join(ROOT, 'workflows', folder, name)

/** `Kind field: controller, controller` for each exception in docs/concepts/fields.md. */
export async function exceptions(): Promise<string[]> {
  const page = await readFile(join(ROOT, 'docs/concepts/fields.md'), 'utf8')
  return section(page, '## Exceptions')
    .split('\n')
    .flatMap((line) => {
      const [, kind, field, controllers] = /^\| (\w+) \| (`[^|]*`) \| ([^|]+) \|/.exec(line) ?? []
      return kind === undefined ? [] : [`${kind} ${(field ?? '').replaceAll('`', '')}: ${controllers?.trim() ?? ''}`]
    })
}

/** Whether the paths are equal, or one is a parent of the other. */
export function overlap(left: Path, right: Path): boolean {
  return left.every((key, index) => index >= right.length || key === right[index])
}

/** Whether the field is the declared field or a part of it. */
export function isBelow(declared: Path, at: Path): boolean {
  return declared.length <= at.length && overlap(declared, at)
}

export function isDeclared({ fields }: OwnedFields, kind: string, at: Path): boolean {
  return (fields[kind] ?? []).some((declared) => isBelow(declared, at))
}

/** Formats a field path, for example `status.phase`. */
export function fieldText(at: Path): string {
  const [parent = '', child = '', ...rest] = at
  if (at.length === 1) return parent
  const isKeyed = parent === 'metadata' && rest.length > 0
  return isKeyed && child === 'finalizers'
    ? 'metadata.finalizers'
    : [`${parent}.${child}`, ...rest].join(isKeyed ? ' ' : '.')
}

/** The leaves of an object, like in `managedFields`: a list is one leaf, but each finalizer is its own leaf. */
export function leaves(object: object): ReadonlyMap<string, { readonly at: Path; readonly value: string }> {
  const found = new Map<string, { at: Path; value: string }>()
  const walk = (value: unknown, at: Path): void => {
    if (at.join('.') === 'metadata.finalizers') for (const one of value as string[]) put([...at, one], true)
    else if (typeof value === 'object' && value !== null && !Array.isArray(value))
      for (const [key, child] of Object.entries(value)) walk(child, [...at, key])
    else put(at, value)
  }
  const put = (at: Path, value: unknown) => found.set(JSON.stringify(at), { at, value: JSON.stringify(value) })
  walk(object, [])
  return found
}

/** Fields that the API server writes. */
const SERVERS_OWN =
  /^metadata\.(?:resourceVersion|generation|managedFields|uid|creationTimestamp|name|namespace|selfLink|deletion\w+)$/

/** The fields in which two versions differ. */
export function changedFields(before: KubeObject, after: KubeObject): Path[] {
  const [old, now] = [leaves(before), leaves(after)]
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((key) => old.get(key)?.value !== now.get(key)?.value)
    .map((key) => JSON.parse(key) as Path)
    .filter((at) => !SERVERS_OWN.test(at.slice(0, 2).join('.')))
}

interface ManagedFields {
  readonly manager: string
  readonly fieldsV1?: Readonly<Record<string, unknown>>
}

/** The fields that each manager of an object owns. */
export function heldFields({ metadata }: KubeObject): { readonly manager: string; readonly at: Path }[] {
  const { managedFields = [] } = metadata as { managedFields?: readonly ManagedFields[] }
  return managedFields.flatMap(({ manager, fieldsV1 = {} }) => heldBelow(fieldsV1, []).map((at) => ({ manager, at })))
}

// Keys of fieldsV1: `f:` is a field, `v:` a value of a set, `k:` a list entry by its key, `.` the parent field itself.
function heldBelow(fields: Readonly<Record<string, unknown>>, at: Path): Path[] {
  const below = Object.entries(fields).filter(([key]) => key !== '.')
  if (below.length === 0) return [at]
  return below.flatMap(([key, inner]) => {
    const name = key.startsWith('v:') ? (JSON.parse(key.slice(2)) as string) : key.slice(2)
    return heldBelow(inner as Readonly<Record<string, unknown>>, [...at, name])
  })
}
