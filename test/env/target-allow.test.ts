// Where Targets may lead, against a real API server of this machine: `--target-allow`.

import { readFile } from 'node:fs/promises'

import { afterEach, beforeEach, describe, expect, it, inject } from 'vitest'
import { parse } from 'yaml'

import { createTargetAccess } from '../../activities/landscaper/deploy/target/open-target.ts'
import type { TargetAccess } from '../../activities/landscaper/deploy/target/target-cluster.ts'
import { dataOf } from '../activities/landscaper/tenant-data.ts'
import { HttpProxy } from '../support/faults/http-proxy.ts'
import { failure, type UserConfig, useTargetStage, whoami } from './target-stage.ts'

const NAMESPACE = 'target-allow'
const stage = useTargetStage(NAMESPACE)

const opened: TargetAccess[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((access) => access.close()))
})

/** Who one is at the cluster of a Target, or how that fails, where this is listed. */
async function asks(name: string, ...allow: string[]): Promise<unknown> {
  const access = createTargetAccess({ kube: stage().admin, data: dataOf, now: () => new Date(), allow })
  opened.push(access)
  const ask = async () => await whoami(await access.open(NAMESPACE, name))
  return allow.includes(WORKS) ? await ask() : await failure(ask)
}
const WORKS = '192.0.2.0/24'

const hostOf = ({ clusters: [{ cluster }] }: UserConfig) => new URL(String(cluster['server'])).host
const refused = (name: string, problem: string) => ({
  reason: 'TargetNotAllowed',
  codes: ['ERR_CONFIGURATION_PROBLEM'],
  isFinal: true,
  message: `Target "${NAMESPACE}/${name}": ${problem}`,
})

describe('a Target on the machine of the worker', () => {
  it('is refused unless it is listed, by its addresses or by its server', async () => {
    const host = hostOf(parse(stage().text) as UserConfig)
    await stage().target('here', { config: { kubeconfig: stage().text } })
    expect(await asks('here')).toEqual(
      refused(
        'here',
        `server https://${host} has the address 127.0.0.1, a loopback address; use another server, or let the operator add ${host} to --target-allow of the worker`,
      ),
    )
    expect(await asks('here', '127.0.0.1:1', '127.0.0.2/32')).toMatchObject({ reason: 'TargetNotAllowed' })
    for (const listed of ['127.0.0.0/8', '127.0.0.1', host]) expect(await asks('here', WORKS, listed)).toBe('admin')
  })

  it('is refused under a name that leads there, unless that name is listed', async () => {
    const config = stage().changed(({ clusters: [{ cluster }] }) => {
      cluster['server'] = String(cluster['server']).replace('127.0.0.1', 'localhost')
      cluster['insecure-skip-tls-verify'] = true
      delete cluster['certificate-authority-data']
    })
    await stage().target('named', { config: { kubeconfig: config } })
    expect(await asks('named', '127.0.0.1')).toMatchObject({
      reason: 'TargetNotAllowed',
      message: expect.stringMatching(
        /^Target "target-allow\/named": server https:\/\/localhost:(\d+) has the address \S+, a loopback address; use another server, or let the operator add localhost:\1 to --target-allow of the worker$/,
      ) as string,
    })
    expect(await asks('named', WORKS, 'localhost')).toBe('admin')
    expect(await asks('named', WORKS, '127.0.0.0/8', '::1')).toBe('admin')
  })
})

describe('a Target without TLS', () => {
  let proxy: HttpProxy
  beforeEach(async () => {
    proxy = await HttpProxy.start(inject('servers').kubeconfigPath)
  })
  afterEach(() => proxy.stop())

  it('is refused unless its server is listed; that its address is, does not do', async () => {
    const kubeconfig = await readFile(proxy.kubeconfigPath, 'utf8')
    const host = hostOf(parse(kubeconfig) as UserConfig)
    await stage().target('plain', { config: { kubeconfig } })
    const expected = refused(
      'plain',
      `server http://${host} does not use TLS; use https, or let the operator add ${host} to --target-allow of the worker`,
    )
    expect(await asks('plain')).toEqual(expected)
    expect(await asks('plain', '127.0.0.0/8')).toEqual(expected)
    for (const listed of ['127.0.0.1', host]) expect(await asks('plain', WORKS, listed)).toBe('admin')
  })
})
