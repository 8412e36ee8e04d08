import { describe, expect, it } from 'vitest'
import { bridgeSettings } from '../../../worker/bridge/settings.ts'
import { readConfig } from '../../../worker/server/config.ts'

const config = readConfig({ PAWL_DATABASE_URL: 'postgres://env', KUBECONFIG: '/env/kubeconfig' })

/** Enables a controller of a wing. */
const ENABLED = { 'default-contexts': 'yes' }

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

  it('select all namespaces or one, and the kinds of all wings or of the named ones', () => {
    expect(bridgeSettings({}, config)).toMatchObject({ namespace: undefined, wings: ['landscaper'] })
    const chosen = { namespace: 'team-a', wings: 'landscaper' }
    expect(bridgeSettings(chosen, config)).toMatchObject({ namespace: 'team-a', wings: ['landscaper'] })
  })

  it("have the controllers of users and those that the worker's flags enable, with their content key", () => {
    const [controllers, key] = [import.meta.filename, { 'content-key': 'key' }]
    expect(bridgeSettings({ controllers, ...key }, config).controllerFiles).toEqual([controllers])
    expect([...bridgeSettings({ ...ENABLED, ...key }, config).off]).toEqual(['targetSync'])
    expect([...bridgeSettings({}, config).off]).toEqual(['context', 'targetSync'])
  })

  it('give each start another lease owner', () => {
    expect(bridgeSettings({}, config).owner).not.toBe(bridgeSettings({}, config).owner)
  })

  it.each([
    [{ namespace: 'a,b' }, '--namespace: found "a,b"; expected the name of one namespace'],
    [{ wings: 'chess' }, '--wings: found "chess"; expected wings of chaos, foundationdb, landscaper, or none'],
    [{ controllers: import.meta.filename }, '--content-key is missing; --controllers'],
    [ENABLED, '--content-key is missing; controller context in level mode'],
    [{ 'default-contexts': 'maybe' }, '--default-contexts: found "maybe"; expected yes or no'],
    [{ ...ENABLED, wings: 'none' }, 'wing landscaper, which is off'],
    [{ 'lease-ms': 'soon' }, '--lease-ms: found "soon"; expected a whole number of at least 100'],
    [{ 'lease-ms': '5' }, '--lease-ms: found "5"'],
  ])('%j are rejected with the actual and the expected value', (flags, message) => {
    expect(() => bridgeSettings(flags as Readonly<Record<string, string>>, config)).toThrow(message)
  })

  it('are rejected without a journal', () => {
    expect(() => bridgeSettings({}, readConfig({}))).toThrow('--database-url is missing')
  })
})
