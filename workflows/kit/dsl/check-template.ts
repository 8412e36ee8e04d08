// Checks values: references in templates, field paths in selectors, and whether Kubernetes accepts the texts. Returns them with full paths.

import type { Reference, Template } from './ast.ts'
import { quote, type Report } from './diagnostic.ts'
import { type FieldSort, isLabelKey, type KindFacts, metadataFieldAt, metadataNames } from './kind-facts.ts'
import { nearest } from '../kind/near-words.ts'

export interface TemplateContext {
  /** The target's kind, for messages. */
  readonly target: string
  readonly facts: KindFacts | undefined
  readonly report: Report
}

// The RFC's two short names for metadata fields.
const RFC_PATHS: Readonly<Record<string, readonly string[]>> = {
  Name: ['metadata', 'name'],
  Namespace: ['metadata', 'namespace'],
}

/** The template as text with full paths. */
export function resolveTemplate({ parts }: Template, context: TemplateContext): string {
  return parts
    .map((part) => ('text' in part ? part.text : `\${${['target', ...resolveReference(part, context)].join('.')}}`))
    .join('')
}

/** The literal text of a template with a sign for each reference, for checks of allowed characters. */
export function literalText({ parts }: Template): string {
  return parts.map((part) => ('text' in part ? part.text : 'x')).join('')
}

function resolveReference({ reference, at }: Reference, { target, facts, report }: TemplateContext): readonly string[] {
  const [root = '', ...names] = reference.split('.')
  if (root !== 'target') {
    const hint = nearest(root, ['target']) === undefined ? '' : "; did you mean 'target'?"
    report(
      'CM040',
      at,
      `found a reference to ${quote(root)}; expected a reference to the target, such as \${target.metadata.name}${hint}`,
    )
    return names
  }
  const path = pathOf(names)
  if (!areFields(path)) {
    report('CM041', at, `found ${quote(reference)}; expected names of fields with '.' between them`)
    return path
  }
  const sort = path.length === 0 ? 'other' : sortOf(path, facts)
  if (sort === undefined) report('CM041', at, `${target} has no field ${quote(path.join('.'))}${meant(path, facts)}`)
  if (sort === 'other')
    report('CM042', at, `${quote(reference)} is not a string; expected a string field, such as target.metadata.name`)
  if (sort === 'unknown')
    report(
      'CM053',
      at,
      `the fields of ${target} are unknown, so the type of ${quote(path.join('.'))} is not checked; expected a string`,
    )
  return path
}

/** Whether all parts are field names; the last one may be the key of a label or annotation. */
function areFields(path: readonly string[]): boolean {
  return path.every((name, index) => isPart(name) || (index === 2 && hasKeys(path) && isLabelKey(name)))
}

/** Whether the parts between dots form a field path. */
export function isFieldPath(names: readonly string[]): boolean {
  return areFields(joinedKey(names))
}

/** The field at a path, also below metadata; undefined when the kind has no such field. */
export function fieldSort(names: readonly string[], facts: KindFacts | undefined): FieldSort | undefined {
  return sortOf(joinedKey(names), facts)
}

/** A suggestion for an unknown path: the end of a message. */
export function fieldsMeant(names: readonly string[], facts: KindFacts | undefined): string {
  return meant(joinedKey(names), facts)
}

const isPart = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_-]*$/.test(name)

/** Whether the next part is a key, which may contain dots. */
const hasKeys = ([first, second]: readonly string[]): boolean =>
  first === 'metadata' && (second === 'labels' || second === 'annotations')

function pathOf(names: readonly string[]): readonly string[] {
  if (names.length === 1) return RFC_PATHS[names[0] ?? ''] ?? names
  return joinedKey(names)
}

/** Keys of labels and annotations contain dots. */
function joinedKey(names: readonly string[]): readonly string[] {
  return names.length > 3 && hasKeys(names) ? [...names.slice(0, 2), names.slice(2).join('.')] : names
}

function sortOf([first = '', ...rest]: readonly string[], facts: KindFacts | undefined): FieldSort | undefined {
  if (first === 'metadata') return rest.length === 0 ? 'other' : metadataFieldAt(rest)
  if (first === 'apiVersion' || first === 'kind') return rest.length === 0 ? 'text' : undefined
  if (facts !== undefined) return facts.fieldAt([first, ...rest])
  // Top-level fields of every Kubernetes object begin with a small letter; Go's names do not.
  return /^[a-z]/.test(first) ? 'unknown' : undefined
}

// The similar path, or the known fields at the first unknown name.
function meant(path: readonly string[], facts: KindFacts | undefined): string {
  // Go programs omit metadata: ${target.UID}.
  const inMetadata = path.length === 1 ? nearest(path[0] ?? '', metadataNames) : undefined
  if (inMetadata !== undefined) return `; did you mean 'metadata.${inMetadata}'?`
  const right: string[] = []
  for (const name of path) {
    const known = namesBelow(right, facts)
    const near = known.includes(name) ? name : nearest(name, known)
    if (near === undefined && known.length > 0) return `; expected one of ${[...known].sort().join(', ')}`
    right.push(near ?? name)
  }
  const suggestion = right.join('.')
  return suggestion === path.join('.') ? '' : `; did you mean '${suggestion}'?`
}

function namesBelow(path: readonly string[], facts: KindFacts | undefined): readonly string[] {
  if (path.length === 0) return ['metadata', ...(facts?.namesBelow([]) ?? ['spec', 'status'])]
  if (path[0] === 'metadata') return path.length === 1 ? metadataNames : []
  return facts?.namesBelow(path) ?? []
}

export interface PathContext {
  /** The owner of the fields, for messages. */
  readonly kind: string
  readonly facts: KindFacts | undefined
  readonly report: Report
}

/** The path of a target field that need not be a text; reports problems. @param expected describes the field. */
export function targetPath(value: Template, expected: string, { kind, facts, report }: PathContext): string {
  const text = plainText(value)
  const names = text === undefined ? [] : text.split('.')
  if (text === undefined || !isFieldPath(names)) {
    report('CM045', value.at, `found ${quote(shownText(value))}; expected the path of a field, such as spec.selector`)
    return ''
  }
  if (names[0] === 'target') {
    report('CM045', value.at, `found ${quote(text)}; expected a path in the target: ${quote(names.slice(1).join('.'))}`)
    return ''
  }
  const sort = fieldSort(names, facts)
  if (sort === undefined) report('CM041', value.at, `${kind} has no field ${quote(text)}${fieldsMeant(names, facts)}`)
  if (sort === 'unknown')
    report(
      'CM053',
      value.at,
      `the fields of ${kind} are unknown, so the type of ${quote(text)} is not checked; expected ${expected}`,
    )
  if (sort === 'text' && !expected.includes('string'))
    report('CM045', value.at, `${quote(text)} of ${kind} is a string; expected ${expected}`)
  return text
}

/** The picked fields, `status.phase,spec.nodeName`; none for an empty text. */
export function pickedPaths(value: Template, { kind, facts, report }: PathContext): readonly string[] {
  const text = plainText(value)
  if (text === '') return []
  const paths = text?.split(',') ?? []
  const wrong = text === undefined ? shownText(value) : paths.find((one) => !isFieldPath(one.split('.')))
  if (wrong !== undefined) {
    report(
      'CM045',
      value.at,
      `found ${quote(wrong)}; expected paths of fields with ',' between them, such as status.phase`,
    )
    return []
  }
  const twice = paths.find((one, index) => paths.indexOf(one) < index)
  if (twice !== undefined) report('CM020', value.at, `field ${quote(twice)} is picked twice`)
  for (const one of paths.filter((path) => fieldSort(path.split('.'), facts) === undefined))
    report('CM046', value.at, `${kind} has no field ${quote(one)}${fieldsMeant(one.split('.'), facts)}`)
  return paths
}

/** Undefined for a text with a reference. */
function plainText({ parts }: Template): string | undefined {
  const texts = parts.map((part) => ('text' in part ? part.text : undefined))
  return texts.includes(undefined) ? undefined : texts.join('')
}

function shownText({ parts }: Template): string {
  return parts.map((part) => ('text' in part ? part.text : `\${${part.reference}}`)).join('')
}
