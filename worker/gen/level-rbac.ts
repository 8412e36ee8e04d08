// The rights that bridge and worker need for controllers in level mode, from what these declare: target, queries, `writes`. Pure.
//
//   R1. Only what is used: the worker reads by name what a query asks for by name, and lists the rest; the bridge alone watches.
//   R2. A right is for the namespace where it is used: the target's, the ones that a query or `writes` name, or every one (`anywhere`) for
//       objects in none and for what nobody can tell before an object is there. What a wing's operators may choose is where it is without their choice.

import {
  type AccessRule,
  fillTemplate,
  type JsonValue,
  type LevelController,
  type LevelResource,
  resourceOf,
  type StateQuery,
} from '../../workflows/kit/index.ts'
import { ENGINE_RULES } from './access-rules.ts'

/** Where a right is used (R2). */
export type Place = 'beside the target' | 'anywhere' | { readonly namespace: string }

export interface Right {
  readonly process: 'bridge' | 'worker'
  readonly place: Place
  readonly rule: AccessRule
}

/** What a controller needs. @param settings what its wing tells passes where nobody has configured anything. */
export function rightsOf(controller: LevelController, settings?: JsonValue): readonly Right[] {
  return [
    ...[...observing(controller, settings), ...ofTarget(controller)],
    ...[...writing(controller, settings), ...telling(controller)],
  ]
}

/** To follow and to read the kinds of states. */
function observing(controller: LevelController, settings: JsonValue | undefined): readonly Right[] {
  return Object.values(controller.queries).flatMap((query) => {
    const resource = resourceOf(controller, query.kind)
    const place = placeOf(resource, query.namespace, settings)
    return [right('bridge', place, resource, ['list', 'watch']), right('worker', place, resource, readingVerbs(query))]
  })
}

/** What is lazy may be narrowed to names when it is asked for: then those are read, unless a selector has to find them (select-objects.ts). */
function readingVerbs({
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

function ofTarget({ target, finalizer, writes }: LevelController): readonly Right[] {
  const place = placeOf(target, undefined)
  const isWhole = target.statusSubresource === false
  const owns = writes.length > 0
  const seen = right('bridge', place, target, ['list', 'watch'])
  if (target.isReadOnly === true) return [seen, right('worker', place, target, ['get'])]
  return [
    seen,
    right('worker', place, target, ['get', ...(finalizer !== undefined || isWhole ? ['patch'] : [])]),
    ...(isWhole ? [] : [right('worker', place, part(target, 'status'), ['patch'])]),
    // Where the server protects owner references, whoever makes objects of an owner needs it.
    ...(owns ? [right('worker', place, part(target, 'finalizers'), ['update'])] : []),
  ]
}

function writing(controller: LevelController, settings: JsonValue | undefined): readonly Right[] {
  return controller.writes.flatMap(({ kind, namespaces, verbs = ['create', 'patch', 'delete'] }) => {
    const resource = resourceOf(controller, kind)
    const places = [
      placeOf(resource, undefined),
      ...namespaces.map((namespace) => placeOf(resource, namespace, settings)),
    ]
    return places.flatMap((place) => [
      // What is in the way of a write wakes the pass when it changes or goes.
      right('bridge', place, resource, ['list', 'watch']),
      right('worker', place, resource, ['get', ...verbs]),
    ])
  })
}

/** Events about the target; on objects in no namespace they are in this one. */
function telling({ target }: LevelController): readonly Right[] {
  const place: Place = target.withoutNamespace === true ? { namespace: 'default' } : 'beside the target'
  return ENGINE_RULES.map((rule) => ({ process: 'worker', place, rule }))
}

/** @param asked the namespace of a query, or of `writes`: a template, which may become any; empty for all. */
function placeOf({ withoutNamespace }: LevelResource, asked: string | undefined, settings?: JsonValue): Place {
  if (withoutNamespace === true) return 'anywhere'
  if (asked === undefined || asked === '${target.metadata.namespace}') return 'beside the target'
  const namespace = fillTemplate(asked, { target: {}, settings })
  return namespace === '' || namespace === undefined ? 'anywhere' : { namespace }
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

function part(resource: LevelResource, subresource: string): LevelResource {
  return { ...resource, plural: `${resource.plural}/${subresource}` }
}
