// Decides which writes an admission rule applies to: as CEL for the API server's match conditions, and as a function
// for the webhook process. Both must agree.

import { isDeepStrictEqual } from 'node:util'

import type { AnnotationFilter, AdmissionKind, WriteFilter } from '../../workflows/kit/index.ts'
import { fieldsOf, type JsonFields } from '../../workflows/kit/index.ts'

/** CEL: objects that are being deleted are not checked. */
export const NOT_BEING_DELETED = '!has(object.metadata.deletionTimestamp)'

/** CEL: true for a new object and for a change outside of metadata and status. */
export function newOrChangedInCel({ schema }: AdmissionKind): string {
  const changes = Object.keys(schema).flatMap((field) => {
    const [now, before] = [`object.${field}`, `oldObject.${field}`]
    return field === 'status' ? [] : [`has(${now}) != has(${before}) || (has(${now}) && ${now} != ${before})`]
  })
  return ['oldObject == null', ...changes].join(' || ')
}

/**
 * @returns a CEL expression that is true for the selected writes. Source: Kubernetes, "Matching requests:
 * matchConditions".
 */
export function matchConditionInCel(
  { spec, annotationsSet = [], annotationsRemoved = [], finalizersRemoved = [] }: WriteFilter,
  kind: AdmissionKind,
): string {
  const was = (annotation: string, value: string | undefined) =>
    `(oldObject != null && ${has('oldObject', annotation, value)})`
  const all = 'metadata.finalizers'
  return [
    ...(spec === undefined ? [] : [`(${NOT_BEING_DELETED} && (${newOrChangedInCel(kind)}))`]),
    ...annotationsSet.map((writes) => {
      const { annotation, value } = annotationOf(writes)
      const [now, before] = ['object', 'oldObject'].map(
        (side) => `${side}.metadata.annotations[${JSON.stringify(annotation)}]`,
      )
      const isSame =
        value === undefined ? `${was(annotation, undefined)} && ${now} == ${before}` : was(annotation, value)
      return `(${has('object', annotation, value)} && !(${isSame}))`
    }),
    ...annotationsRemoved.map((writes) => {
      const { annotation, value } = annotationOf(writes)
      return `(${was(annotation, value)} && !(${has('object', annotation, value)}))`
    }),
    ...finalizersRemoved.map((finalizer) => {
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

/** True if the rule applies to the write. */
export function matchesWrite(
  { spec, annotationsSet = [], annotationsRemoved = [], finalizersRemoved = [] }: WriteFilter,
  object: JsonFields,
  old: JsonFields | undefined,
): boolean {
  const [now, before] = [annotationsIn(object), annotationsIn(old)]
  const isIn = (annotations: JsonFields, { annotation, value }: AnnotationOf) =>
    annotations[annotation] !== undefined && (value === undefined || annotations[annotation] === value)
  const all = (some: readonly AnnotationFilter[]) => some.map(annotationOf)
  const [finalizers, oldFinalizers] = [finalizersIn(object), finalizersIn(old)]
  return (
    (spec !== undefined && isNewOrChanged(object, old)) ||
    all(annotationsSet).some((one) => isIn(now, one) && now[one.annotation] !== before[one.annotation]) ||
    all(annotationsRemoved).some((one) => isIn(before, one) && !isIn(now, one)) ||
    finalizersRemoved.some((one) => oldFinalizers.includes(one) && !finalizers.includes(one))
  )
}

/** True for a new object and for a change outside of metadata and status; false for an object that is being deleted. */
export function isNewOrChanged(object: JsonFields, old: JsonFields | undefined): boolean {
  if (typeof fieldsOf(object['metadata'])['deletionTimestamp'] === 'string') return false
  return old === undefined || !isDeepStrictEqual(specFields(object), specFields(old))
}

function specFields(object: JsonFields): JsonFields {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== 'metadata' && name !== 'status'))
}

interface AnnotationOf {
  readonly annotation: string
  readonly value: string | undefined
}

function annotationOf(writes: AnnotationFilter): AnnotationOf {
  return typeof writes === 'string' ? { annotation: writes, value: undefined } : writes
}

function annotationsIn(object: JsonFields | undefined): JsonFields {
  return fieldsOf(fieldsOf(object?.['metadata'])['annotations'])
}

function finalizersIn(object: JsonFields | undefined): readonly unknown[] {
  const finalizers = fieldsOf(object?.['metadata'])['finalizers']
  return Array.isArray(finalizers) ? (finalizers as readonly unknown[]) : []
}
