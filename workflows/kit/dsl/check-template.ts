// Checks values: what they refer to, and whether Kubernetes takes what they say. Yields them with full paths.

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

// The RFC's two names for what is below metadata.
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

/** The literal texts of a template, with a sign in place of each reference; for checks of what values may hold. */
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
      `found a reference to ${quote(root)}; expected one to the target, such as \${target.metadata.name}${hint}`,
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
    report(
      'CM042',
      at,
      `${quote(reference)} is not text; expected a field that holds text, such as target.metadata.name`,
    )
  if (sort === 'unknown')
    report('CM053', at, `the fields of ${target} are not known: nobody checks that ${quote(path.join('.'))} is text`)
  return path
}

/** Whether they are names of fields, one below the other; the last may be the key of a label or an annotation. */
function areFields(path: readonly string[]): boolean {
  return path.every((name, index) => isPart(name) || (index === 2 && hasKeys(path) && isLabelKey(name)))
}

/** Whether the parts between the dots of a text are a path of fields. */
export function isFieldPath(names: readonly string[]): boolean {
  return areFields(joinedKey(names))
}

/** What stands at a path of fields, which may be below metadata; undefined: the kind has no such field. */
export function fieldSort(names: readonly string[], facts: KindFacts | undefined): FieldSort | undefined {
  return sortOf(joinedKey(names), facts)
}

/** What a path that leads nowhere may have been meant to be: the end of a message. */
export function fieldsMeant(names: readonly string[], facts: KindFacts | undefined): string {
  return meant(joinedKey(names), facts)
}

const isPart = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_-]*$/.test(name)

/** Whether what is below is found by a key, which may have dots of its own. */
const hasKeys = ([first, second]: readonly string[]): boolean =>
  first === 'metadata' && (second === 'labels' || second === 'annotations')

function pathOf(names: readonly string[]): readonly string[] {
  if (names.length === 1) return RFC_PATHS[names[0] ?? ''] ?? names
  return joinedKey(names)
}

/** Keys of labels and annotations have dots of their own. */
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

// What the path may have been meant to be, or what could stand where its first unknown name is.
function meant(path: readonly string[], facts: KindFacts | undefined): string {
  // Go programs leave metadata out: ${target.UID}.
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
