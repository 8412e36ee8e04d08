// The flags of chaos-controller's manager.

import { describe, expect, it } from 'vitest'

import { withFlags, optionsOf } from '../../../worker/cli/options.ts'
import { readFlags } from '../../../worker/server/flags.ts'
import { Command } from 'commander'
import { CONFIG_FLAGS, withConfigFlags } from '../../../workflows/chaos/config-flags.ts'
import { readChaosConfig } from '../../../workflows/chaos/read-config.ts'

const NOT_READ = { controller: { deleteOnly: false, defaultDuration: '5m' }, injector: { labels: { a: '1' } } }

/** The values as a user gives them. */
function given(...args: readonly string[]) {
  const command = withFlags(new Command('worker'), CONFIG_FLAGS).exitOverride()
  return optionsOf(command.parse([...args], { from: 'user' }))
}

function read(document: unknown, ...args: readonly string[]) {
  const { config, problems } = readChaosConfig(withConfigFlags(document, readFlags(CONFIG_FLAGS, given(...args))))
  expect(problems).toEqual([])
  return config
}

describe('a flag of the manager', () => {
  it('overrides one field of the file', () => {
    const config = read(NOT_READ, '--delete-only', '--max-duration', '2h', '--safemode-namespace-threshold=50')
    expect(config.controller).toMatchObject({ deleteOnly: true, defaultDurationMs: 300_000, maxDurationMs: 7_200_000 })
    expect(config.controller.safeMode).toMatchObject({ enable: true, namespaceThreshold: 50 })
    expect(config.injector.labels).toEqual({ a: '1' })
    expect(NOT_READ.controller.deleteOnly).toBe(false)
  })

  it('works without a file', () => {
    const config = read(
      undefined,
      ...['--enable-safeguards=false', '--expired-disruption-gc-delay', '-1m', '--cloud-providers-disable-all'],
      ...['--injector-annotations', 'a=b=c,d=', '--injector-annotations', 'e=f', '--permitted-user-groups', 'x,y'],
      ...['--injector-network-disruption-allowed-hosts', '10.0.0.0/8;80,b.example', '--handler-cpu=20m'],
    )
    expect(config.controller).toMatchObject({ enableSafeguards: false, expiredDisruptionGCDelayMs: undefined })
    expect(config.controller.safeMode.permittedUserGroups).toEqual(['x', 'y'])
    expect(config.injector).toMatchObject({
      annotations: { a: 'b=c', d: '', e: 'f' },
      allowedHosts: [{ host: '10.0.0.0/8', port: 80 }, { host: 'b.example' }],
    })
    expect(config.handler.cpu).toBe('20m')
    expect(config.cloudProviders.urls).toEqual({})
  })

  it('changes nothing when it is missing', () => {
    expect(read(NOT_READ)).toEqual(readChaosConfig(NOT_READ).config)
    expect(withConfigFlags(undefined, readFlags(CONFIG_FLAGS, {}))).toBeUndefined()
  })

  it.each([
    ['--delete-only=yes', '--delete-only: found "yes"; expected true or false'],
    ['--max-duration=long', '--max-duration: found "long"; expected a duration such as 1m30s'],
    ['--safemode-cluster-threshold=66%', '--safemode-cluster-threshold: found "66%"; expected a whole number'],
    ['--injector-labels=a', '--injector-labels has "a"; expected key=value'],
  ])('is refused where it is none: %s', (arg, message) => {
    expect(() => readFlags(CONFIG_FLAGS, given(arg))).toThrow(message)
  })

  it.each(Object.keys(CONFIG_FLAGS))('sets a field of the file: --%s', (name) => {
    const usual = readChaosConfig(undefined).config
    const found = ['true', 'false', '7', '7m', 'http://a.example', 'a=b', 'a'].some((text) => {
      const document = withConfigFlags(undefined, { [name]: text })
      const { config, problems } = readChaosConfig(document)
      return problems.length === 0 && JSON.stringify(config) !== JSON.stringify(usual)
    })
    expect(found).toBe(true)
  })

  it('leaves an invalid document unchanged for its reader', () => {
    const { problems } = readChaosConfig(withConfigFlags({ controller: 3 }, { 'delete-only': 'true' }))
    expect(problems).toMatchObject([{ field: 'controller', found: '3' }])
    expect(withConfigFlags('text', { 'delete-only': 'true' })).toBe('text')
  })
})
