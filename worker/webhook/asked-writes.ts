// Which writes a rule is asked about: by the API server, in CEL, before it asks, and by the process, which judges by the same.

import type { AskedAnnotation, AskedWrites } from '../../workflows/kit/index.ts'
import { type Fields, fieldsOf } from './fields.ts'

/** @returns what is true of a write that is asked about. Source: Kubernetes, "Matching requests: matchConditions". */
export function askedInCel({ annotationsSet = [], annotationsGone = [] }: AskedWrites): string {
  const was = (annotation: string, value: string | undefined) =>
    `(oldObject != null && ${has('oldObject', annotation, value)})`
  return [
    ...annotationsSet.map((asked) => {
      const { annotation, value } = annotationOf(asked)
      const [now, before] = ['object', 'oldObject'].map(
        (side) => `${side}.metadata.annotations[${JSON.stringify(annotation)}]`,
      )
      const isSame =
        value === undefined ? `${was(annotation, undefined)} && ${now} == ${before}` : was(annotation, value)
      return `(${has('object', annotation, value)} && !(${isSame}))`
    }),
    ...annotationsGone.map((asked) => {
      const { annotation, value } = annotationOf(asked)
      return `(${was(annotation, value)} && !(${has('object', annotation, value)}))`
    }),
  ].join(' || ')
}

function has(side: 'object' | 'oldObject', annotation: string, value: string | undefined): string {
  const [all, name] = [`${side}.metadata.annotations`, JSON.stringify(annotation)]
  const isThere = `has(${all}) && ${name} in ${all}`
  return value === undefined ? isThere : `${isThere} && ${all}[${name}] == ${JSON.stringify(value)}`
}

/** Whether this write is. */
export function isAskedAbout(
  { annotationsSet = [], annotationsGone = [] }: AskedWrites,
  object: Fields,
  old: Fields | undefined,
): boolean {
  const [now, before] = [annotationsIn(object), annotationsIn(old)]
  const isIn = (annotations: Fields, { annotation, value }: AnnotationOf) =>
    annotations[annotation] !== undefined && (value === undefined || annotations[annotation] === value)
  const all = (some: readonly AskedAnnotation[]) => some.map(annotationOf)
  return (
    all(annotationsSet).some((one) => isIn(now, one) && now[one.annotation] !== before[one.annotation]) ||
    all(annotationsGone).some((one) => isIn(before, one) && !isIn(now, one))
  )
}

interface AnnotationOf {
  readonly annotation: string
  readonly value: string | undefined
}

function annotationOf(asked: AskedAnnotation): AnnotationOf {
  return typeof asked === 'string' ? { annotation: asked, value: undefined } : asked
}

function annotationsIn(object: Fields | undefined): Fields {
  return fieldsOf(fieldsOf(object?.['metadata'])['annotations'])
}
