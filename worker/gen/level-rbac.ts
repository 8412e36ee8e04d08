// The rights of bridge and worker for controllers in level mode, from their declarations: target, queries, `writes`. Pure.
//
//   R1. Least privilege: the worker gets `get` for queries by name and `list` for others. Only the bridge gets `watch`.
//   R2. A right applies to one namespace: that of the target, or one that a query or `writes` names. It applies to the cluster (`anywhere`) for cluster-scoped kinds,
//       for the namespace `*`, and for namespaces that depend on an object. Namespaces from settings have their default.

import {
  type AccessRule,
  fillTemplate,
  isWatched,
  type JsonValue,
  type LevelDeclaration,
  type LevelResource,
  resourceOf,
  type StateQuery,
} from '../../workflows/kit/index.ts'
import { ENGINE_RULES } from './access-rules.ts'

/** The scope of a right (R2). */
export type Place = 'beside the target' | 'anywhere' | { readonly namespace: string }

export interface Right {
  readonly process: 'bridge' | 'worker'
  readonly place: Place
  readonly rule: AccessRule
}

/** The rights of a controller. @param settings the default settings of its wing. */
export function rightsOf(controller: LevelDeclaration, settings?: JsonValue): readonly Right[] {
  return [
    ...[...queryRights(controller, settings), ...targetRights(controller)],
    ...[...writeRights(controller, settings), ...eventRights(controller)],
  ]
}

/** The rights to watch and read the queried kinds. */
function queryRights(controller: LevelDeclaration, settings: JsonValue | undefined): readonly Right[] {
  return Object.values(controller.queries).flatMap((query) => {
    const resource = resourceOf(controller, query.kind)
    const place = placeOf(resource, query.namespace, settings)
    const watches = isWatched(controller, resource) ? [right('bridge', place, resource, ['list', 'watch'])] : []
    return [...watches, right('worker', place, resource, readVerbs(query))]
  })
}

/** A pass may restrict a lazy query to names. Then the worker gets these objects by name, unless the query has a selector (select-objects.ts). */
function readVerbs({
  name,
  namesFrom,
  lazy,
  many,
  fields,
  fieldsFrom,
  labels,
  labelsFrom,
  owned,
}: StateQuery): readonly string[] {
  if (name !== undefined || namesFrom !== undefined) return ['get']
  const isSelected =
    owned === 'label' || labelsFrom !== undefined || Object.keys({ ...fields, ...fieldsFrom, ...labels }).length > 0
  return lazy === true && many === true && !isSelected ? ['get', 'list'] : ['list']
}

function targetRights({ target, finalizer, writes }: LevelDeclaration): readonly Right[] {
  const place = placeOf(target, undefined)
  const isWhole = target.statusSubresource === false
  const owns = writes.length > 0
  const watchRight = right('bridge', place, target, ['list', 'watch'])
  if (target.isReadOnly === true) return [watchRight, right('worker', place, target, ['get'])]
  return [
    watchRight,
    right('worker', place, target, ['get', ...(finalizer !== undefined || isWhole ? ['patch'] : [])]),
    ...(isWhole ? [] : [right('worker', place, subresourceOf(target, 'status'), ['patch'])]),
    // The admission plugin OwnerReferencesPermissionEnforcement requires this right for owner references.
    ...(owns ? [right('worker', place, subresourceOf(target, 'finalizers'), ['update'])] : []),
  ]
}

function writeRights(controller: LevelDeclaration, settings: JsonValue | undefined): readonly Right[] {
  return controller.writes.flatMap(({ kind, namespaces, verbs = ['create', 'patch', 'delete'] }) => {
    const resource = resourceOf(controller, kind)
    const places = [
      placeOf(resource, undefined),
      ...namespaces.map((namespace) => placeOf(resource, namespace, settings)),
    ]
    return places.flatMap((place) => [
      // A change of an object that conflicts with a write wakes the pass.
      right('bridge', place, resource, ['list', 'watch']),
      right('worker', place, resource, ['get', ...verbs]),
    ])
  })
}

/** The right to create Events about the target. Events about cluster-scoped objects are in the namespace `default`. */
function eventRights({ target }: LevelDeclaration): readonly Right[] {
  const place: Place = target.withoutNamespace === true ? { namespace: 'default' } : 'beside the target'
  return ENGINE_RULES.map((rule) => ({ process: 'worker', place, rule }))
}

/** @param template the namespace of a query or of `writes`. Empty or `*`: all namespaces. */
function placeOf({ withoutNamespace }: LevelResource, template: string | undefined, settings?: JsonValue): Place {
  if (withoutNamespace === true) return 'anywhere'
  if (template === undefined || template === '${target.metadata.namespace}') return 'beside the target'
  const namespace = fillTemplate(template, { target: {}, settings })
  return namespace === '' || namespace === '*' || namespace === undefined ? 'anywhere' : { namespace }
}

function right(
  process: Right['process'],
  place: Place,
  { apiVersion, plural }: LevelResource,
  verbs: readonly string[],
): Right {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  return { process, place, rule: { apiGroups: [group], resources: [plural], verbs } }
}

function subresourceOf(resource: LevelResource, subresource: string): LevelResource {
  return { ...resource, plural: `${resource.plural}/${subresource}` }
}
