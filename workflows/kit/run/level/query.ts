// What a controller observes beside its target, as data: one query for each state. Generated from controller.cm; the observing
// activity reads the target and all states of a pass together. Source: the RFC's selectors, and spec/kit.md 2 and 8.
//
//   Q1. A query looks in the target's namespace, unless it has one of its own, or several; kinds without namespaces need none.
//   Q2. A list holds what all selectors select. A single state is the one object that they select, or undefined: two are a fault.
//   Q3. Owned means: the object's controlling owner has the target's uid; or it is marked as the target's where owner references do not
//       reach (marks.ts). A list leaves out what is not owned; a single state that finds only what is not owned is a fault.
//   Q4. Of several selectors of the target those that are empty are passed over; one at least has to select (label-selector.ts).
//   Q5. A lazy state is subscribed to like any other, and read only where an action asks for it (`refresh`).
//   Q6. Where all queries of a kind, of all controllers, follow the same of its objects (`followed`), the journal knows nothing of the others.

import { writeJson } from '../../kind/exact-json.ts'
import { isEmptySelector, isLabelValue, labelSelectorText } from './label-selector.ts'
import { OWNER_UID_LABEL } from '../owners.ts'
import { path, type Path, textAt, valueAt } from '../../kind/projection.ts'
import type { JsonValue } from '../../kind/schema.ts'

/**
 * Text in which `${target.a.b}` stands for the text at `a.b` of the target, and `${settings.a.b}` for that of what the controller's wing has told its
 * passes (`LevelPass.settings`); of several, `${target.a.b ?? settings.c}`, for the first that is there and not empty. Everything else is literal: `${` begins
 * nothing else. A template with no text there selects nothing.
 */
export type QueryTemplate = string

export interface StateQuery {
  /** `group/version/Kind`; `v1/Kind` in Kubernetes' core group. */
  readonly kind: string
  /** The state is a list (Q2). */
  readonly many?: true
  /** The object of this name; with other selectors: if they select it. */
  readonly name?: QueryTemplate
  /** `*`: all namespaces. */
  readonly namespace?: QueryTemplate
  /** Where the target has a list of namespaces to look in, `spec.namespaces`; or one. */
  readonly namespacesFrom?: string
  /** Where the target has a list of the names that are meant, in each namespace. */
  readonly namesFrom?: string
  /**
   * Where the target has a selector: a map of labels, one with matchLabels and matchExpressions, or a list of such expressions, `spec.selector`. Of
   * several all have to select (Q4).
   */
  readonly labelsFrom?: string | readonly string[]
  /** Something is selected only where the target has one of these texts at each path, `true` and `false` among them; absent counts as ''. */
  readonly onlyIf?: Readonly<Record<string, readonly string[]>>
  readonly labels?: Readonly<Record<string, QueryTemplate>>
  /** Fields by which the API server can select, without a leading dot; `{ 'source!': 'kubelet' }`: those whose field has another value. */
  readonly fields?: Readonly<Record<string, QueryTemplate>>
  /**
   * Where the target has a list of the values that a field may have, by which the API server can select: `{ 'involvedObject.name': 'status.targets' }`. Each
   * value is a request. An object keeps these fields as long as it lives.
   */
  readonly fieldsFrom?: Readonly<Record<string, string>>
  /** The name of the controlling owner: no field of the API server, compared after reading. RFC: `fields/.metadata.controller`. */
  readonly controller?: QueryTemplate
  /** Q3. */
  readonly owned?: true | 'label'
  /** Fields that reach the pass, `status.phase`, beside what identifies an object. Default: all. */
  readonly pick?: readonly string[]
  /** What reaches the pass of each object: a pure function of it, called by the activity. Of what it gives nothing is left out. */
  readonly view?: (object: never) => unknown
  /** Read again just before each action that asks for the state (`LevelPass.refresh`). */
  readonly fresh?: true
  /** Q5 */
  readonly lazy?: true
  /** Its changes wake nobody: for what is looked at when something else has happened. */
  readonly quiet?: true
  /**
   * Of a kind with very many objects: those with these fields, by which the API server can select, are enough; the bridge follows no others, unless another
   * query or controller wants them (Q6). An object keeps these fields as long as it lives. `source!` as in `fields`.
   */
  readonly followed?: Readonly<Record<string, string>>
}

/** A query whose templates are filled: what to ask the API server for, and what to leave out of its answer. */
export interface Selection {
  /** Undefined: all namespaces, or a kind without any. */
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly labelSelector: string
  readonly fieldSelector: string
  readonly controller: string | undefined
  /** What of the fields is by `fieldsFrom`. */
  readonly fromFields?: Readonly<Record<string, string>>
}

/**
 * What a lazy list is narrowed to when it is asked for: the objects of these names, those whose labels have one of these values, and those whose fields do, by
 * which the API server can select. Each value of a field is a request.
 */
export interface Narrowed {
  readonly names?: readonly string[]
  readonly fields?: Readonly<Record<string, readonly string[]>>
  readonly labels?: Readonly<Record<string, readonly string[]>>
}

/** A query as it travels: a view is known by the names of controller and state. */
export type QueryData = Omit<StateQuery, 'view'> & { readonly viewed?: true }

/**
 * What to ask the API server for, of each namespace that the query looks in; empty when nothing can be selected.
 *
 * @param settings what the controller's wing has told.
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

/** Those that ask for the same are one. */
export function uniqueSelections(selections: readonly Selection[]): readonly Selection[] {
  return [...new Map(selections.map((one) => [writeJson(one), one])).values()]
}

/** The selections of a list narrowed to some of what they select. No name or value that no object can have selects anything, or adds to a selector. */
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

/** In a field selector. Source: k8s.io/apimachinery, fields.EscapeValue. */
function escapedField(value: string): string {
  return value.replaceAll(/[\\,=]/g, '\\$&')
}

/** The texts of a list, each once; or the one that is there. */
function textsAt(target: object, reference: string): readonly string[] {
  const found = valueAt(target, referencePath(reference))
  return [...new Set([found].flat())].filter((one): one is string => typeof one === 'string' && one !== '')
}

/**
 * Fills the templates of a query from its target.
 *
 * @returns undefined when nothing can be selected: the target lacks a text that a template refers to, or has one there that no object
 * can have in this place. So a text of the target never becomes part of a path or adds to a selector.
 */
export function selectionOf(query: QueryData, target: object, settings?: JsonValue): Selection | undefined {
  if (!isAsked(query, target)) return undefined
  const ground: TemplateValues = { target, settings }
  const parts = {
    // Only the query's author may mean all of them.
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

/** Whether the API server could take the text for the name of an object. `.`, `..` and what has a slash would lead to another path. */
export function isObjectName(text: string): boolean {
  return /^[A-Za-z0-9:_]([A-Za-z0-9.:_-]{0,251}[A-Za-z0-9:_-])?$/.test(text)
}

// No template can be filled with it.
const IMPOSSIBLE = '\u0000'
const NO_TEXT = IMPOSSIBLE
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
    return texts.includes(typeof value === 'string' ? value : typeof value === 'boolean' ? String(value) : NO_TEXT)
  })
}

/** What fills templates. */
export interface TemplateValues {
  readonly target: object
  /** Undefined: no wing has told any. */
  readonly settings: JsonValue | undefined
}

/** Undefined when there is no text at one of the references. */
export function fillTemplate(template: QueryTemplate, ground: TemplateValues): string | undefined {
  // Split by one group: every second part is a reference.
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

/** Keys of labels and annotations have dots of their own. */
export function referencePath(reference: string): Path {
  const [, map, key] = /^metadata\.(labels|annotations)\.(.+)$/.exec(reference) ?? []
  return map === undefined || key === undefined ? path(reference) : ['metadata', map, key]
}
