// Queries of a controller: the objects that a pass observes besides its target, one query per state, and their
// conversion to API requests. Generated from controller.cm. The observing activity reads the target and all states of a
// pass together. Source: the RFC's selectors, and spec/kit.md 2 and 8.
//
//   Q1. A query reads the target's namespace, unless it names one or several; cluster-scoped kinds need none.
//   Q2. A list contains the objects that all selectors select. A single state is the selected object or undefined; two objects are a fault.
//   Q3. An owned object has a controlling owner reference with the target's uid, or ownership labels where owner references do not reach (owners.ts).
//       A list
// omits objects that are not owned; a single state that selects only such objects is a fault.
//   Q4. Of several selectors in the target, empty ones are ignored; at least one must select (label-selector.ts).
//   Q5. A lazy state has subscriptions like any other, but is read only by `refresh`.
//   Q6. If all queries of a kind, in all controllers, have equal `followed` fields, the bridge watches only objects with these fields.

import { writeJson } from '../../kind/exact-json.ts'
import { isEmptySelector, isLabelValue, labelSelectorText } from './label-selector.ts'
import { OWNER_UID_LABEL } from '../owners.ts'
import { path, type Path, textAt, valueAt } from '../../kind/projection.ts'
import type { JsonValue } from '../../kind/schema.ts'

/**
 * A text with references: `${target.a.b}` is the text at `a.b` of the target, `${settings.a.b}` the text in the wing's settings
 * (`LevelPass.settings`).
 * `${target.a.b ?? settings.c}` is the first non-empty text. All other characters are literal. A template whose reference has no text selects
 * nothing.
 */
export type QueryTemplate = string

/** Selects the objects of a state. */
export interface StateQuery {
  /** `group/version/Kind`; `v1/Kind` in Kubernetes' core group. */
  readonly kind: string
  /** The state is a list (Q2). Default: one object or undefined. */
  readonly many?: true
  /** Selects the object of this name, if the other selectors select it too. */
  readonly name?: QueryTemplate
  /** Default: the target's namespace. `*`: all namespaces. */
  readonly namespace?: QueryTemplate
  /** Path of a list of namespaces in the target, `spec.namespaces`, or of one namespace. */
  readonly namespacesFrom?: string
  /** Path of a list of object names in the target, or of one name; each is read in each namespace. */
  readonly namesFrom?: string
  /**
   * Path of a label selector in the target, `spec.selector`: a map of labels, a LabelSelector, or a list of matchExpressions. A missing or empty
   * selector selects nothing. Of a list of paths, all non-empty selectors must match, and at least one must exist (Q4).
   */
  readonly labelsFrom?: string | readonly string[]
  /** Selects something only if the target has one of these texts at each path; booleans count as `true` and `false`, a missing field as ''. */
  readonly onlyIf?: Readonly<Record<string, readonly string[]>>
  /** Labels that the objects must have, such as `{ app: 'web' }`. */
  readonly labels?: Readonly<Record<string, QueryTemplate>>
  /** Field selector of the API server, without a leading dot; `{ 'source!': 'kubelet' }` selects all other values. */
  readonly fields?: Readonly<Record<string, QueryTemplate>>
  /**
   * Field to the path of a list of its values in the target: `{ 'involvedObject.name': 'status.targets' }`. Each value is a request with a field
   * selector of the API server. The fields must be immutable.
   */
  readonly fieldsFrom?: Readonly<Record<string, string>>
  /** The name of the controlling owner; not a field selector, compared after reading. RFC: `fields/.metadata.controller`. */
  readonly controller?: QueryTemplate
  /**
   * Only objects that the target owns (Q3). `true`: by controlling owner reference. `label`: by label, in its own namespace or in the namespaces of
   * `writes`. A list omits other objects; a single state that is not owned is a fault.
   */
  readonly owned?: true | 'label'
  /** Fields that reach the pass, such as `status.phase` or `metadata.labels.KEY`, besides those that identify an object. Default: all. */
  readonly pick?: readonly string[]
  /** A pure function that the activity applies to each object; the pass gets its result, and no object for undefined. */
  readonly view?: (object: never) => unknown
  /** Read again before each action that uses the state (`LevelPass.refresh`). */
  readonly fresh?: true
  /**
   * Read only when an action calls `refresh(name)`, or `refresh(name, { names, labels, fields })` for a part; using it before is a bug. Changes of the
   * objects wake the run nevertheless (Q5).
   */
  readonly lazy?: true
  /** Changes of the objects wake no run, because the state is read only after another event. */
  readonly quiet?: true
  /**
   * For kinds with very many objects, such as Events: the bridge watches only objects with these fields, such as `{ type: 'Warning' }`, unless another
   * query of any controller differs or a controller writes the kind (Q6). Immutable fields that the API server can select by; `source!` as in `fields`.
   */
  readonly followed?: Readonly<Record<string, string>>
}

/** A query with filled templates: the API request, and the filter of its result. */
export interface Selection {
  /** Undefined: all namespaces, or a cluster-scoped kind. */
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly labelSelector: string
  readonly fieldSelector: string
  readonly controller: string | undefined
  /** The part of the field selector that comes from `fieldsFrom`. */
  readonly fromFields?: Readonly<Record<string, string>>
}

/** Restricts a list to objects with these names, label values and field values. Each field value is a request. */
export interface Narrowed {
  readonly names?: readonly string[]
  readonly fields?: Readonly<Record<string, readonly string[]>>
  readonly labels?: Readonly<Record<string, readonly string[]>>
}

/** A query as JSON. An activity finds the view by controller and state name. */
export type QueryData = Omit<StateQuery, 'view'> & { readonly viewed?: true }

/**
 * The API requests of a query, one per namespace; empty when it can select nothing.
 *
 * @param settings the wing's settings.
 */
export function selectionsOf(query: QueryData, target: object, settings?: JsonValue): readonly Selection[] {
  const { namespacesFrom, namesFrom, fieldsFrom = {}, ...rest } = query
  const inNamespaces: readonly QueryData[] =
    namespacesFrom === undefined
      ? [rest]
      : textsAt(target, namespacesFrom).flatMap((namespace) => (isNamespace(namespace) ? { ...rest, namespace } : []))
  const named =
    namesFrom === undefined
      ? inNamespaces
      : textsAt(target, namesFrom).flatMap((name) =>
          isObjectName(name) ? inNamespaces.map((one) => ({ ...one, name })) : [],
        )
  const selections = named.flatMap((one) => selectionOf(one, target, settings) ?? [])
  const fields = Object.entries(fieldsFrom).map(([field, at]) => [field, textsAt(target, at)] as const)
  return withFields(selections, Object.fromEntries(fields))
}

/** Removes duplicates. */
export function uniqueSelections(selections: readonly Selection[]): readonly Selection[] {
  return [...new Map(selections.map((one) => [writeJson(one), one])).values()]
}

/** Restricts the selections of a list. Names and values that no object can have select nothing and cannot extend a selector. */
export function narrowSelections(
  selections: readonly Selection[],
  { names, labels = {}, fields = {} }: Narrowed,
): readonly Selection[] {
  const requirements = Object.entries(labels).map(([key, values]) => {
    const known = values.filter(isLabelValue)
    return known.length === 0 ? undefined : labelSelectorText([{ key, operator: 'In', values: known }])
  })
  if (requirements.includes(undefined)) return []
  const labelled = withFields(selections, fields).map((one) => ({
    ...one,
    labelSelector: [one.labelSelector, ...requirements].filter((part) => part !== '').join(','),
  }))
  if (names === undefined) return labelled
  return [...new Set(names)].filter(isObjectName).flatMap((name) => labelled.map((one) => ({ ...one, name })))
}

function withFields(selections: readonly Selection[], fields: NonNullable<Narrowed['fields']>): readonly Selection[] {
  let found = selections
  for (const [key, values] of Object.entries(fields)) {
    const asked = [...new Set(values)].map((value) => ({ value, text: `${key}=${escapedField(value)}` }))
    found = found.flatMap((one) =>
      asked.map(({ value, text }) => ({
        ...one,
        fieldSelector: one.fieldSelector === '' ? text : `${one.fieldSelector},${text}`,
        fromFields: { ...one.fromFields, [key]: value },
      })),
    )
  }
  return found
}

/** Escapes a value in a field selector. Source: k8s.io/apimachinery, fields.EscapeValue. */
function escapedField(value: string): string {
  return value.replaceAll(/[\\,=]/g, '\\$&')
}

/** The texts of a list without duplicates, or the only text. */
function textsAt(target: object, reference: string): readonly string[] {
  const found = valueAt(target, referencePath(reference))
  return [...new Set([found].flat())].filter((one): one is string => typeof one === 'string' && one !== '')
}

/**
 * Fills the templates of a query from its target.
 *
 * @returns undefined when nothing can be selected: the target lacks a referenced text, or the text is invalid in its place. So a text of the target
 * never
 * becomes part of a path or extends a selector.
 */
export function selectionOf(query: QueryData, target: object, settings?: JsonValue): Selection | undefined {
  if (!isAsked(query, target)) return undefined
  const ground: TemplateValues = { target, settings }
  const parts = {
    // Only the query itself may select all namespaces.
    namespace: query.namespace === ALL ? '' : filled(query.namespace ?? targetNamespace(target), ground, isNamespace),
    name: filled(query.name, ground, isObjectName),
    controller: filled(query.controller, ground, isObjectName),
    labels: selector(query.labels, ground, (value) => (isLabelValue(value) ? value : undefined)),
    labelsFrom: query.labelsFrom === undefined ? undefined : selectorAt(query.labelsFrom, target),
    owner: query.owned === 'label' ? selector(OWNED_BY_LABEL, ground, (value) => value) : undefined,
    fields: selector(query.fields, ground, escapedField),
  }
  if (Object.values(parts).includes(IMPOSSIBLE)) return undefined
  const { namespace, name, controller, labels, labelsFrom, owner, fields = '' } = parts
  return {
    namespace: namespace === '' ? undefined : namespace,
    name,
    controller,
    labelSelector: [labels, labelsFrom, owner].filter((part) => part !== undefined && part !== '').join(','),
    fieldSelector: fields,
  }
}

/** Whether the API server accepts the text as an object name. `.`, `..` and slashes would lead to another path. */
export function isObjectName(text: string): boolean {
  return /^[A-Za-z0-9:_]([A-Za-z0-9.:_-]{0,251}[A-Za-z0-9:_-])?$/.test(text)
}

// No template can produce this text.
const IMPOSSIBLE = '\u0000'
const ALL = '*'
const OWNED_BY_LABEL = { [OWNER_UID_LABEL]: '${target.metadata.uid}' }

const isNamespace = (text: string): boolean => text === '' || /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)

const targetNamespace = (target: object): string => textAt(target, ['metadata', 'namespace']) ?? ''

function filled(
  template: QueryTemplate | undefined,
  ground: TemplateValues,
  isPossible: (text: string) => boolean,
): string | undefined {
  if (template === undefined) return undefined
  const text = fillTemplate(template, ground)
  return text !== undefined && isPossible(text) ? text : IMPOSSIBLE
}

function selector(
  templates: Readonly<Record<string, QueryTemplate>> | undefined,
  ground: TemplateValues,
  written: (value: string) => string | undefined,
): string | undefined {
  const pairs = Object.entries(templates ?? {}).map(([key, template]) => {
    const text = fillTemplate(template, ground)
    const value = text === undefined ? undefined : written(text)
    return value === undefined ? undefined : `${key}=${value}`
  })
  return pairs.includes(undefined) ? IMPOSSIBLE : pairs.join(',')
}

/** Q4 */
function selectorAt(references: string | readonly string[], target: object): string {
  if (typeof references === 'string') return labelSelectorText(valueAt(target, referencePath(references))) ?? IMPOSSIBLE
  const given = references.map((one) => valueAt(target, referencePath(one))).filter((one) => !isEmptySelector(one))
  const texts = given.map(labelSelectorText)
  return texts.length === 0 || texts.includes(undefined) ? IMPOSSIBLE : texts.join(',')
}

function isAsked({ onlyIf = {} }: QueryData, target: object): boolean {
  return Object.entries(onlyIf).every(([at, texts]) => {
    const value = valueAt(target, referencePath(at)) ?? ''
    if (typeof value !== 'string' && typeof value !== 'boolean') return false
    return texts.includes(String(value))
  })
}

/** The values that fill templates. */
export interface TemplateValues {
  readonly target: object
  /** Undefined: the wing has no settings. */
  readonly settings: JsonValue | undefined
}

/** Undefined when a reference has no text. */
export function fillTemplate(template: QueryTemplate, ground: TemplateValues): string | undefined {
  // Splits with one group: every second part is a reference.
  const parts = template.split(/\$\{((?:target|settings)\.[^}]*)\}/)
  const texts = parts.map((part, index) => (index % 2 === 0 ? part : referredTo(part.split(' ?? '), ground)))
  return texts.includes(undefined) ? undefined : texts.join('')
}

function referredTo(references: readonly string[], ground: TemplateValues): string | undefined {
  const found = references.map((reference) => {
    const dot = reference.indexOf('.')
    const within = reference.slice(0, dot) === 'settings' ? ground.settings : ground.target
    return typeof within === 'object' && within !== null
      ? textAt(within, referencePath(reference.slice(dot + 1)))
      : undefined
  })
  return found.length === 1 ? found[0] : found.find((text) => text !== undefined && text !== '')
}

/** Keys of labels and annotations contain dots. */
export function referencePath(reference: string): Path {
  const [, map, key] = /^metadata\.(labels|annotations)\.(.+)$/.exec(reference) ?? []
  return map === undefined || key === undefined ? path(reference) : ['metadata', map, key]
}
