// Checks paths of fields that a query holds as they are: where the target has a selector or namespaces, and what is picked of an object.

import type { Template } from './ast.ts'
import { fieldsMeant, fieldSort, isFieldPath } from './check-template.ts'
import { quote, type Report } from './diagnostic.ts'
import type { KindFacts } from './kind-facts.ts'

export interface PathContext {
  /** Whose fields they are, for messages. */
  readonly kind: string
  readonly facts: KindFacts | undefined
  readonly report: Report
}

/** The path of a field of the target where something else than text may stand; what is wrong with it is reported. @param expected what has to be there. */
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
    report('CM053', value.at, `the fields of ${kind} are not known: nobody checks that ${quote(text)} is ${expected}`)
  if (sort === 'text' && !expected.includes('text'))
    report('CM045', value.at, `${quote(text)} of ${kind} is text; expected ${expected}`)
  return text
}

/** The fields that are picked, `status.phase,spec.nodeName`; none for an empty text. */
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

/** Undefined when it has a reference. */
function plainText({ parts }: Template): string | undefined {
  const texts = parts.map((part) => ('text' in part ? part.text : undefined))
  return texts.includes(undefined) ? undefined : texts.join('')
}

function shownText({ parts }: Template): string {
  return parts.map((part) => ('text' in part ? part.text : `\${${part.reference}}`)).join('')
}
