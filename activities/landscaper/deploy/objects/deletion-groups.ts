// Deletion groups: sets of managed resources that are deleted together, one group after another. Pure.
// Source: spec/landscaper.md 4.4, appendix B 35 (plural and lower-case kinds match as well).

import { type ConfigReader, isMap, type Json } from './config-reader.ts'
import { groupOf } from '../target/target-cluster.ts'
import { API_VERSION } from './manifest.ts'
import type { ResourceRef } from './managed-resources.ts'

const PREDEFINED = ['namespaced-resources', 'cluster-scoped-resources', 'crds', 'empty'] as const

export type DeletionGroup = PredefinedGroup | CustomGroup

interface PredefinedGroup {
  readonly type: (typeof PREDEFINED)[number]
  readonly forceDelete: boolean
}

export interface CustomGroup {
  readonly type: 'custom'
  readonly resources: readonly ResourceTypes[]
  readonly forceDelete: boolean
  /** Also objects that no item has deployed. */
  readonly deleteAllResources: boolean
  /** Another Target, with deleteAllResources only. */
  readonly targetName: string | undefined
}

export interface ResourceTypes {
  readonly apiVersion: string
  /** A kind or, as in examples, its plural in lower case. */
  readonly kind: string
  /** Empty: all. */
  readonly names: readonly string[]
  readonly namespaces: readonly string[]
}

export const DEFAULT_GROUPS: readonly DeletionGroup[] = [
  { type: 'namespaced-resources', forceDelete: false },
  { type: 'cluster-scoped-resources', forceDelete: false },
  { type: 'crds', forceDelete: false },
]

/** The groups of a configuration; absent and empty lists mean the default (the type `empty` means no group). */
export function readDeletionGroups(reader: ConfigReader, value: unknown, field: string): readonly DeletionGroup[] {
  const entries = reader.list(value, field)
  if (entries.length === 0) return DEFAULT_GROUPS
  return entries.flatMap((entry, index) => readGroup(reader, entry, `${field}[${index}]`) ?? [])
}

function readGroup(reader: ConfigReader, entry: unknown, field: string): DeletionGroup | undefined {
  const expected = 'either predefinedResourceGroup or customResourceGroup'
  if (!isMap(entry)) {
    reader.wrong(field, entry, expected)
    return undefined
  }
  const predefined = reader.map(entry['predefinedResourceGroup'], `${field}.predefinedResourceGroup`)
  const custom = reader.map(entry['customResourceGroup'], `${field}.customResourceGroup`)
  if (predefined !== undefined && custom !== undefined) {
    reader.wrong(field, entry, expected, 'both')
    return undefined
  }
  if (predefined !== undefined) return readPredefined(reader, predefined, `${field}.predefinedResourceGroup`)
  if (custom !== undefined) return readCustom(reader, custom, `${field}.customResourceGroup`)
  reader.wrong(field, entry, expected, 'neither predefinedResourceGroup nor customResourceGroup')
  return undefined
}

function readPredefined(reader: ConfigReader, group: Json, field: string): DeletionGroup | undefined {
  const forceDelete = reader.flag(group['forceDelete'], `${field}.forceDelete`)
  const type = PREDEFINED.find((one) => one === group['type'])
  if (type !== undefined) return { type, forceDelete }
  reader.wrong(`${field}.type`, group['type'] ?? undefined, `one of ${PREDEFINED.join(', ')}`)
  return undefined
}

function readCustom(reader: ConfigReader, group: Json, field: string): DeletionGroup {
  const deleteAllResources = reader.flag(group['deleteAllResources'], `${field}.deleteAllResources`)
  const { targetName: wanted } = group
  const hasTarget = wanted !== undefined && wanted !== null && wanted !== ''
  const targetName = hasTarget ? reader.required(wanted, `${field}.targetName`) : undefined
  if (hasTarget && !deleteAllResources) {
    reader.wrong(`${field}.targetName`, wanted, 'it only with deleteAllResources: true', 'a value')
  }
  return {
    type: 'custom',
    resources: reader
      .list(group['resources'], `${field}.resources`)
      .flatMap((entry, index) => readTypes(reader, entry, `${field}.resources[${index}]`) ?? []),
    forceDelete: reader.flag(group['forceDelete'], `${field}.forceDelete`),
    deleteAllResources,
    targetName,
  }
}

function readTypes(reader: ConfigReader, entry: unknown, field: string): ResourceTypes | undefined {
  if (!isMap(entry)) {
    reader.wrong(field, entry, 'a map with apiVersion and kind')
    return undefined
  }
  const apiVersion = reader.required(entry['apiVersion'], `${field}.apiVersion`)
  const kind = reader.required(entry['kind'], `${field}.kind`)
  if (apiVersion !== undefined && !API_VERSION.test(apiVersion)) {
    reader.wrong(`${field}.apiVersion`, apiVersion, '<group>/<version> or v1')
  }
  const names = reader.texts(entry['names'], `${field}.names`)
  const namespaces = reader.texts(entry['namespaces'], `${field}.namespaces`)
  return apiVersion === undefined || kind === undefined ? undefined : { apiVersion, kind, names, namespaces }
}

/** Whether a group contains the resource; `plural` as served by the cluster, undefined if it is not served. */
export function isInGroup(group: DeletionGroup, resource: ResourceRef, plural: string | undefined): boolean {
  switch (group.type) {
    case 'namespaced-resources':
      return resource.namespace !== undefined
    case 'cluster-scoped-resources':
      return resource.namespace === undefined && !isCrd(resource)
    case 'crds':
      return isCrd(resource)
    case 'empty':
      return false
    case 'custom':
      // The objects that a group deletes on another target are not this item's.
      if (group.targetName !== undefined) return false
      return group.resources.some(
        (types) =>
          groupOf(types.apiVersion) === groupOf(resource.apiVersion) &&
          isKind(types.kind, resource.kind, plural) &&
          isNamed(types, resource),
      )
  }
}

/** Whether the names and namespaces of a group's entry select the object. */
export function isNamed(
  { names, namespaces }: ResourceTypes,
  object: { name: string; namespace?: string | undefined },
) {
  if (names.length > 0 && !names.includes(object.name)) return false
  return namespaces.length === 0 || (object.namespace !== undefined && namespaces.includes(object.namespace))
}

/** Whether a word names the kind, in any case, singular or plural. */
export function isKind(word: string, kind: string, plural: string | undefined): boolean {
  const lower = word.toLowerCase()
  return word === kind || lower === kind.toLowerCase() || lower === (plural ?? usualPlural(kind))
}

export function isCrd({ apiVersion = '', kind }: { readonly apiVersion?: string; readonly kind?: string }): boolean {
  return kind === 'CustomResourceDefinition' && apiVersion.startsWith('apiextensions.k8s.io/')
}

// The plural that client-go guesses, for a kind that is no longer served.
function usualPlural(kind: string): string {
  const lower = kind.toLowerCase()
  if (lower.endsWith('s')) return `${lower}es`
  return lower.endsWith('y') ? `${lower.slice(0, -1)}ies` : `${lower}s`
}
