import { describe, expect, it } from 'vitest'

import { readConfig } from '../../../worker/server/config.ts'
import { certificateNames, webhookSettings } from '../../../worker/webhook/flags.ts'

const config = readConfig({ HOME: '/nowhere' })
const SERVICE = { service: 'pawl/pawl-webhook' }

describe('the settings of the webhook', () => {
  it('need only a Service', () => {
    expect(webhookSettings(SERVICE, config)).toMatchObject({
      address: { service: { namespace: 'pawl', name: 'pawl-webhook' } },
      certificates: { secret: { namespace: 'pawl', name: 'pawl-webhook-certificates' } },
      failurePolicy: 'Fail',
      recordPolicy: 'Ignore',
      timeoutSeconds: 10,
      namespace: undefined,
      port: 9443,
    })
  })

  it.each([
    [{}, '--service is missing'],
    [{ ...SERVICE, url: 'https://x' }, '--url cannot be combined with --service'],
    [{ service: 'pawl' }, '--service: found "pawl"'],
    [{ service: 'Pawl/x' }, '--service: found "Pawl"'],
    [{ url: 'http://127.0.0.1:1' }, '--url: found "http://127.0.0.1:1"'],
    [{ url: 'https://127.0.0.1:1' }, '--certificate-secret is missing; --url'],
    [{ ...SERVICE, 'certificate-dir': 'x', 'certificate-secret': 'a/b' }, '--certificate-dir cannot be combined with'],
    [{ ...SERVICE, 'failure-policy': 'fail' }, '--failure-policy: found "fail"'],
    [{ ...SERVICE, 'record-policy': 'no' }, '--record-policy: found "no"'],
    [{ ...SERVICE, timeout: '31s' }, '--timeout'],
    [{ ...SERVICE, timeout: 'none' }, '--timeout'],
    [{ ...SERVICE, 'certificate-lifetime': '1s' }, '--certificate-lifetime'],
    [{ ...SERVICE, 'certificate-lifetime': '2h', 'authority-lifetime': '1h' }, '--authority-lifetime'],
    [{ ...SERVICE, namespace: 'Team' }, '--namespace: found "Team"'],
  ])('refuse %j', (given, told) => {
    expect(() => webhookSettings(given, config)).toThrow(told)
  })

  it('contain the names of the certificate', () => {
    expect(certificateNames({ service: { namespace: 'pawl', name: 'hook' } })).toEqual(['hook.pawl.svc'])
    expect(certificateNames({ url: 'https://[::1]:9443' })).toEqual(['::1'])
    expect(certificateNames({ url: 'https://hook.example.org' })).toEqual(['hook.example.org'])
  })
})
