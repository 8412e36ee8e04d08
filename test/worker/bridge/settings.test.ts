import { describe, expect, it } from 'vitest'
import { bridgeSettings } from '../../../worker/bridge/settings.ts'
import { readConfig } from '../../../worker/server/config.ts'

const config = readConfig({ PAWL_DATABASE_URL: 'postgres://env', KUBECONFIG: '/env/kubeconfig' })

describe('the settings of the bridge', () => {
  it('come from the environment unless a flag overrides it', () => {
    expect(bridgeSettings({ 'database-url': 'postgres://flag', 'lease-ms': '1500' }, config)).toMatchObject({
      databaseUrl: 'postgres://flag',
      kubeconfigPath: '/env/kubeconfig',
      cluster: 'local',
      retentionMs: 14 * 24 * 60 * 60 * 1000,
      reflector: { leaseMs: 1500, watchdogMs: 75_000 },
    })
  })

  it('select all namespaces or one', () => {
    expect(bridgeSettings({}, config).namespace).toBeUndefined()
    expect(bridgeSettings({ namespace: 'team-a' }, config).namespace).toBe('team-a')
    expect(() => bridgeSettings({ namespace: 'a,b' }, config)).toThrow(
      '--namespace is "a,b"; expected the name of one namespace',
    )
  })

  it('select the kinds of all wings or of the named ones', () => {
    expect(bridgeSettings({}, config).wings).toEqual(['landscaper'])
    expect(bridgeSettings({ wings: 'landscaper' }, config).wings).toEqual(['landscaper'])
    expect(() => bridgeSettings({ wings: 'chess' }, config)).toThrow(
      '--wings names "chess"; expected wings of chaos, landscaper, or none',
    )
  })

  it('require a content key for controllers of users', () => {
    const controllers = import.meta.filename
    expect(() => bridgeSettings({ controllers }, config)).toThrow('--content-key is missing beside --controllers')
    expect(bridgeSettings({ controllers, 'content-key': 'key' }, config).controllerFiles).toEqual([controllers])
  })

  it("enable the same controllers as the worker's flags, and require their content key", () => {
    const on = { 'default-contexts': 'yes' }
    expect(() => bridgeSettings(on, config)).toThrow('--content-key is missing beside controller context in level mode')
    expect([...bridgeSettings({ ...on, 'content-key': 'key' }, config).off]).toEqual(['targetSync'])
    expect([...bridgeSettings({}, config).off]).toEqual(['context', 'targetSync'])
    expect(() => bridgeSettings({ 'default-contexts': 'maybe' }, config)).toThrow(
      '--default-contexts is "maybe"; expected yes or no',
    )
    expect(() => bridgeSettings({ ...on, wings: 'none' }, config)).toThrow('wing landscaper, whose flag it is, is off')
  })

  it('give each start another lease owner', () => {
    expect(bridgeSettings({}, config).owner).not.toBe(bridgeSettings({}, config).owner)
  })

  it('are rejected with the actual and the expected value', () => {
    expect(() => bridgeSettings({}, readConfig({}))).toThrow('--database-url is missing')
    expect(() => bridgeSettings({ 'lease-ms': 'soon' }, config)).toThrow(
      '--lease-ms is "soon"; expected a whole number of at least 100',
    )
    expect(() => bridgeSettings({ 'lease-ms': '5' }, config)).toThrow('--lease-ms is "5"')
  })
})
