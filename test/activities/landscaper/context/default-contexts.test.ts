import { describe, expect, it } from 'vitest'

import {
  describeContext,
  getsContext,
  readDefaultContexts,
} from '../../../../activities/landscaper/context/default-contexts.ts'
import { landscaperWing } from '../../../../workflows/landscaper/wing.ts'
import { readFlags } from '../../../../worker/server/flags.ts'

const REPOSITORY = '{"type":"OCIRegistry","baseUrl":"ghcr.io/acme"}'
const flagsOf = (given: Record<string, string>) => readFlags(landscaperWing.flags, given)

describe('the flags of default Contexts', () => {
  it('give no namespace a default Context without --default-contexts', async () => {
    const flags = flagsOf({ 'default-context-repository': REPOSITORY })
    expect(readDefaultContexts(flags)).toBeUndefined()
    expect(getsContext(undefined, 'a')).toBe(false)
    expect(await describeContext({ namespace: 'a' }, { flags })).toBeNull()
    expect(await describeContext({ namespace: 'a' }, {})).toBeNull()
  })

  it('set the repository context and the excluded namespaces', async () => {
    const flags = flagsOf({
      'default-contexts': 'yes',
      'default-context-repository': REPOSITORY,
      'default-context-excluded': 'kube-system, b',
    })
    const repositoryContext = { type: 'OCIRegistry', baseUrl: 'ghcr.io/acme' }
    expect(await describeContext({ namespace: 'a' }, { flags })).toEqual({ repositoryContext })
    expect(await describeContext({ namespace: 'b' }, { flags })).toBeNull()
  })

  it('are refused with the flag, the invalid value and the expected value', () => {
    expect(() => flagsOf({ 'default-context-repository': 'ghcr.io/acme' })).toThrow(
      '--default-context-repository: found "ghcr.io/acme"; expected a repository context in JSON, such as {"type":"OCIRegistry","baseUrl":"ghcr.io/acme"}',
    )
    expect(() => flagsOf({ 'default-context-excluded': 'a,B' })).toThrow(
      '--default-context-excluded has "B"; expected the name of a namespace',
    )
  })
})
