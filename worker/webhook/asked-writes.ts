// Which writes a rule is asked about: by the API server, in CEL, before it asks, and by the process, which judges by the same.

import { isDeepStrictEqual } from 'node:util'

import type { AnnotationFilter, AdmissionKind, WriteFilter } from '../../workflows/kit/index.ts'
import { type Fields, fieldsOf } from './fields.ts'

/** In CEL: it is kept from rules about what is going away. */
export const NOT_BEING_DELETED = '!has(object.metadata.deletionTimestamp)'

/** In CEL: it is new, or more of it changes than metadata and status. */
export function newOrChangedInCel({ schema }: AdmissionKind): string {
  const changes = Object.keys(schema).flatMap((field) => {
    const [now, before] = [`object.${field}`, `oldObject.${field}`]
    return field === 'status' ? [] : [`has(${now}) != has(${before}) || (has(${now}) && ${now} != ${before})`]
  })
  return ['oldObject == null', ...changes].join(' || ')
}

/** @returns what is true of a write that is asked about. Source: Kubernetes, "Matching requests: matchConditions". */
export function askedInCel(
  {
    spec,
    annotationsSet = [],
    annotationsRemoved: annotationsGone = [],
    finalizersRemoved: finalizersGone = [],
  }: WriteFilter,
  kind: AdmissionKind,
): string {
  const was = (annotation: string, value: string | undefined) =>
    `(oldObject != null && ${has('oldObject', annotation, value)})`
  const all = 'metadata.finalizers'
  return [
    ...(spec === undefined ? [] : [`(${NOT_BEING_DELETED} && (${newOrChangedInCel(kind)}))`]),
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
    ...finalizersGone.map((finalizer) => {
      const isIn = (side: string) => `has(${side}.${all}) && ${JSON.stringify(finalizer)} in ${side}.${all}`
      return `(oldObject != null && ${isIn('oldObject')} && !(${isIn('object')}))`
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
  {
    spec,
    annotationsSet = [],
    annotationsRemoved: annotationsGone = [],
    finalizersRemoved: finalizersGone = [],
  }: WriteFilter,
  object: Fields,
  old: Fields | undefined,
): boolean {
  const [now, before] = [annotationsIn(object), annotationsIn(old)]
  const isIn = (annotations: Fields, { annotation, value }: AnnotationOf) =>
    annotations[annotation] !== undefined && (value === undefined || annotations[annotation] === value)
  const all = (some: readonly AnnotationFilter[]) => some.map(annotationOf)
  const [left, had] = [finalizersIn(object), finalizersIn(old)]
  return (
    (spec !== undefined && isNewOrChanged(object, old)) ||
    all(annotationsSet).some((one) => isIn(now, one) && now[one.annotation] !== before[one.annotation]) ||
    all(annotationsGone).some((one) => isIn(before, one) && !isIn(now, one)) ||
    finalizersGone.some((one) => had.includes(one) && !left.includes(one))
  )
}

/** Of what is not being deleted. */
export function isNewOrChanged(object: Fields, old: Fields | undefined): boolean {
  if (typeof fieldsOf(object['metadata'])['deletionTimestamp'] === 'string') return false
  return old === undefined || !isDeepStrictEqual(judgedPart(object), judgedPart(old))
}

function judgedPart(object: Fields): Fields {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== 'metadata' && name !== 'status'))
}

interface AnnotationOf {
  readonly annotation: string
  readonly value: string | undefined
}

function annotationOf(asked: AnnotationFilter): AnnotationOf {
  return typeof asked === 'string' ? { annotation: asked, value: undefined } : asked
}

function annotationsIn(object: Fields | undefined): Fields {
  return fieldsOf(fieldsOf(object?.['metadata'])['annotations'])
}

function finalizersIn(object: Fields | undefined): readonly unknown[] {
  const finalizers = fieldsOf(object?.['metadata'])['finalizers']
  return Array.isArray(finalizers) ? (finalizers as readonly unknown[]) : []
}
