// Types are tested by the compiler: this file fails `tsc` when inference changes. Running it proves only that it loads.

import { describe, expectTypeOf, it } from 'vitest'

import type { Context } from '../../workflows/landscaper/context/kind.ts'
import type { DataObject } from '../../workflows/landscaper/data-object/kind.ts'
import type { Execution } from '../../workflows/landscaper/execution/kind.ts'
import type { JsonValue } from '../../workflows/kit/index.ts'
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
