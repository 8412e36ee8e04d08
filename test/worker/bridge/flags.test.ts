import { describe, expect, it } from 'vitest'
import { processSettings } from '../../../worker/bridge/settings.ts'
import { readConfig } from '../../../worker/server/config.ts'

const config = readConfig({ PAWL_DATABASE_URL: 'postgres://env', KUBECONFIG: '/env/kubeconfig' })

describe('the settings of the bridge', () => {
  it('come from flags before the environment', () => {
    expect(processSettings({ 'database-url': 'postgres://flag', 'lease-ms': '1500' }, config)).toMatchObject({
      databaseUrl: 'postgres://flag',
      kubeconfigPath: '/env/kubeconfig',
      cluster: 'local',
      retentionMs: 14 * 24 * 60 * 60 * 1000,
      reflector: { leaseMs: 1500, watchdogMs: 75_000 },
    })
  })

  it('follow all namespaces, or the one that is named', () => {
    expect(processSettings({}, config).namespace).toBeUndefined()
    expect(processSettings({ namespace: 'team-a' }, config).namespace).toBe('team-a')
    expect(() => processSettings({ namespace: 'a,b' }, config)).toThrow(
      '--namespace is "a,b"; expected the name of one namespace',
    )
  })

  it('follow the kinds of all wings, or of those that are named', () => {
    expect(processSettings({}, config).wings).toEqual(['landscaper'])
    expect(processSettings({ wings: 'landscaper' }, config).wings).toEqual(['landscaper'])
    expect(() => processSettings({ wings: 'chess' }, config)).toThrow(
      '--wings names "chess"; expected wings of chaos, landscaper, or none',
    )
  })

  it('need a content key for controllers of users, whose kinds are known by their hash', () => {
    const controllers = import.meta.filename
    expect(() => processSettings({ controllers }, config)).toThrow('--content-key is missing beside --controllers')
    expect(processSettings({ controllers, 'content-key': 'key' }, config).controllerFiles).toEqual([controllers])
  })

  it('switch on what the worker runs, which needs a content key, too', () => {
    const on = { 'default-contexts': 'yes' }
    expect(() => processSettings(on, config)).toThrow(
      '--content-key is missing beside controller context in level mode',
    )
    expect([...processSettings({ ...on, 'content-key': 'key' }, config).off]).toEqual(['targetSync'])
    expect([...processSettings({}, config).off]).toEqual(['context', 'targetSync'])
    expect(() => processSettings({ 'default-contexts': 'maybe' }, config)).toThrow(
      '--default-contexts is "maybe"; expected yes or no',
    )
    expect(() => processSettings({ ...on, wings: 'none' }, config)).toThrow('wing landscaper, whose flag it is, is off')
  })

  it('give every start another owner, so that a process that hangs shares no lease with its successor', () => {
    expect(processSettings({}, config).owner).not.toBe(processSettings({}, config).owner)
  })

  it('are refused with what was found and what was expected', () => {
    expect(() => processSettings({}, readConfig({}))).toThrow('--database-url is missing')
    expect(() => processSettings({ 'lease-ms': 'soon' }, config)).toThrow(
      '--lease-ms is "soon"; expected a whole number of at least 100',
    )
    expect(() => processSettings({ 'lease-ms': '5' }, config)).toThrow('--lease-ms is "5"')
  })
})
