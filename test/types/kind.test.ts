// Types are tested by the compiler: this file fails `tsc` when inference changes. Running it proves only that it loads.

import { describe, expectTypeOf, it } from 'vitest'

import type { Context } from '../../workflows/landscaper/context/kind.ts'
import type { DataObject } from '../../workflows/landscaper/data-object/kind.ts'
import type { Execution } from '../../workflows/landscaper/execution/kind.ts'
import {
  defineKind,
  integer,
  type JsonValue,
  type ObjectOf,
  oneOf,
  record,
  required,
  text,
} from '../../workflows/kit/index.ts'
import type { LsHealthCheck } from '../../workflows/landscaper/ls-health-check/kind.ts'

describe('the type of an object', () => {
  it('has required fields present and optional ones absent or of their type', () => {
    expectTypeOf<Execution['kind']>().toEqualTypeOf<'Execution'>()
    expectTypeOf<Execution['metadata']['uid']>().toEqualTypeOf<string>()
    type Item = NonNullable<Execution['spec']['deployItems']>[number]
    expectTypeOf<Item['name']>().toEqualTypeOf<string>()
    expectTypeOf<Item['dependsOn']>().toEqualTypeOf<readonly string[] | undefined>()
    expectTypeOf<Item['labels']>().toEqualTypeOf<Readonly<Record<string, string>> | undefined>()
  })

  it('refuses undefined where a field may only be absent', () => {
    const withUndefined = { phase: undefined }
    expectTypeOf(withUndefined).not.toExtend<NonNullable<Execution['status']>>()
  })

  it('refuses fields that the kind does not have', () => {
    expectTypeOf<Execution['spec']>().not.toHaveProperty('deployItem')
    expectTypeOf<Execution>().not.toHaveProperty('data')
  })

  it('has the top-level fields that the wire format has', () => {
    expectTypeOf<DataObject['data']>().toEqualTypeOf<JsonValue>()
    expectTypeOf<LsHealthCheck['status']>().toEqualTypeOf<string>()
    expectTypeOf<Context['ocmConfig']>().toEqualTypeOf<{ readonly name?: string } | undefined>()
    expectTypeOf<Context>().not.toHaveProperty('spec')
  })
})

describe('the type of an object whose kind has defaults', () => {
  const kind = defineKind({
    group: 'example.com',
    version: 'v1',
    kind: 'Node',
    plural: 'nodes',
    singular: 'node',
    shortNames: [],
    statusSubresource: true,
    printerColumns: [],
    description: 'N.',
    projection: [],
    workerVerbs: [],
    scope: 'Cluster',
    schema: {
      spec: required(
        record('S.', {
          size: integer('I.', { default: 3, minimum: 1 }),
          mode: oneOf('M.', ['Fast', 'Safe'], { default: 'Safe' }),
          note: text('T.', { maxLength: 9 }),
          parts: record('P.', { count: integer('C.', { default: 1 }) }, { default: {} }),
        }),
      ),
    },
  })
  type Node = ObjectOf<typeof kind>

  it('has them present, and fields with limits alone optional', () => {
    expectTypeOf<Node['spec']['size']>().toEqualTypeOf<number>()
    expectTypeOf<Node['spec']['mode']>().toEqualTypeOf<'Fast' | 'Safe'>()
    expectTypeOf<Node['spec']['note']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<Node['spec']['parts']['count']>().toEqualTypeOf<number>()
  })

  it('is in no namespace when the kind is of the whole cluster', () => {
    expectTypeOf(kind.scope).toEqualTypeOf<'Cluster' | undefined>()
    expectTypeOf<Node['metadata']>().not.toHaveProperty('namespace')
    expectTypeOf<Execution['metadata']['namespace']>().toEqualTypeOf<string>()
  })

  it('refuses defaults of another type', () => {
    // @ts-expect-error -- not one of the values
    oneOf('M.', ['Fast', 'Safe'], { default: 'Slow' })
    // @ts-expect-error -- no number
    integer('I.', { default: '3' })
  })
})
