// Components that the OCM command line has created and pushed to a real registry. Source: spec/landscaper.md 1.2; OCM
// v0.11.0.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRegistries, type Registries } from '../../activities/landscaper/components/registries.ts'
import { resolveComponents } from '../../activities/landscaper/components/resolve-components.ts'
import type { Verification } from '../../activities/landscaper/components/verify-components.ts'
import type { TrustedKeys } from '../../activities/landscaper/components/verify-signature.ts'
import { readOcmConfig } from '../../activities/landscaper/components/registry-credentials.ts'
import { resolveResource } from '../../activities/landscaper/render/blueprint/component-scope.ts'
import { childEnvironment } from '../../worker/server/config.ts'
import { data } from '../activities/landscaper/tenant-data.ts'
import { BLUEPRINT_TYPE } from '../support/registries/component-registry.ts'
import { Authority } from '../support/servers/certificates.ts'
import { OciRegistry, READER } from '../support/registries/oci-registry.ts'
import { registryBinary } from '../support/registries/registry-binaries.ts'

const [SHOP, DB] = ['example.com/shop', 'example.com/db']
const folder = mkdtempSync(join(tmpdir(), 'pawl-ocm-'))
const registries = createRegistries({ allow: ['127.0.0.1', 'localhost'], now: () => new Date() })
type RegistryClient = ReturnType<Registries['of']>
let registry: OciRegistry
let ocm: string

// The timeout is long, because the command line is built here if it is not in the cache.
beforeAll(async () => {
  registry = await OciRegistry.start()
  ocm = await registryBinary('ocm')
}, 1_800_000)
afterAll(async () => {
  await registries.close()
  await registry.stop()
  rmSync(folder, { recursive: true })
})

const run = (...args: string[]) =>
  execFileSync(ocm, args, { cwd: folder, env: childEnvironment({ HOME: folder }), stdio: 'pipe', timeout: 60_000 })

function push(prefix: string, components: readonly object[], schema: string): void {
  writeFileSync(join(folder, 'components.json'), JSON.stringify({ components }))
  run('add', 'componentversions', '--create', '--force', '--scheme', schema, '--file', prefix, 'components.json')
  run('transfer', 'commontransportarchive', prefix, `${registry.url}/${prefix}`)
}

const provider = { name: 'acme' }
const text = (name: string, content: string) => ({
  name,
  type: 'text',
  relation: 'local',
  version: '1.0.0',
  input: { type: 'utf8', text: content, mediaType: 'text/plain' },
})

/** Resolves the shop as a worker does whose folder of components is `folder`. */
const resolveShop = (
  repositoryContext: object,
  more: { readonly version?: string; readonly verification?: Verification; readonly client?: RegistryClient } = {},
) =>
  resolveComponents(data, {
    definition: { ref: { componentName: SHOP, version: more.version ?? '1.0.0' } },
    repositoryContext,
    context: 'default',
    registryFolder: folder,
    registries: () => Promise.resolve(more.client ?? registries.of({ namespace: 'n' }, [])),
    ...(more.verification !== undefined && { verification: more.verification }),
  })
const oci = (url: string) => ({ type: 'OCIRegistry', baseUrl: url })

async function contentOf(scope: Awaited<ReturnType<typeof resolveComponents>>, uri: string): Promise<string> {
  const content = await scope.readContent(resolveResource(scope, uri))
  return 'bytes' in content ? content.bytes.toString() : 'a folder'
}

describe('components that OCM has pushed', () => {
  it.each([
    ['v2', 'two', '1.0.0'],
    ['v3alpha1', 'three', '1.0.0+build'],
  ])('are read with their resources in the schema %s', async (schema, prefix, version) => {
    writeFileSync(join(folder, 'blueprint.yaml'), 'kind: Blueprint')
    const blueprint = {
      name: 'blueprint',
      type: BLUEPRINT_TYPE,
      relation: 'local',
      version: '1.0.0',
      input: { type: 'dir', path: '.', includeFiles: ['blueprint.yaml'], compress: true },
    }
    const references = [{ name: 'db', componentName: DB, version: '2.0.0' }]
    push(
      prefix,
      [
        {
          name: SHOP,
          version,
          provider,
          resources: [text('note', 'made by OCM'), blueprint],
          componentReferences: references,
        },
        { name: DB, version: '2.0.0', provider, resources: [text('note', 'of the database')] },
      ],
      schema === 'v2' ? 'v2' : 'ocm.software/v3alpha1',
    )
    const scope = await resolveShop(oci(`${registry.url}/${prefix}`), { version })
    expect(scope.all.map(({ name }) => name)).toEqual([SHOP, DB])
    expect(await contentOf(scope, 'cd://resources/note')).toBe('made by OCM')
    expect(await contentOf(scope, 'cd://componentReferences/db/resources/note')).toBe('of the database')
    const packed = await scope.readContent(resolveResource(scope, 'cd://resources/blueprint'))
    expect('bytes' in packed ? await data.archive(packed.bytes) : {}).toMatchObject({
      'blueprint.yaml': 'kind: Blueprint',
    })
  })
})

describe('components that OCM has signed', () => {
  const NOTE = 'of the database, signed'
  const label = { name: 'stage', value: { of: '<prod>', level: 1e21 } }
  const component = (name: string, version: string, content: string, references: readonly object[] = []) => ({
    name,
    version,
    provider: { ...provider, labels: [{ ...label, signing: true }, label] },
    labels: [label, { ...label, name: 'covered', signing: true }],
    resources: [text('note', content)],
    sources: [
      {
        name: 'code',
        type: 'git',
        version: '1.0.0',
        access: { type: 'gitHub', repoUrl: 'github.com/acme/shop', commit: '0123456789012345678901234567890123456789' },
      },
    ],
    componentReferences: references,
  })
  const reference = { name: 'db', componentName: DB, version: '2.0.0', labels: [label], extraIdentity: { zone: 'a' } }
  const components = [component(SHOP, '1.0.0', 'of the shop', [reference]), component(DB, '2.0.0', NOTE)]
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  const key = (name: string) => ({ pem: read(name), place: name })
  const byKey = (name: string): TrustedKeys => ({ publicKey: key(name), authorities: undefined })

  function make(path: string, schema: string, ...how: readonly string[]): void {
    writeFileSync(join(folder, 'components.json'), JSON.stringify({ components }))
    run('add', 'componentversions', '--create', '--force', '--scheme', schema, '--file', path, 'components.json')
    run('sign', 'componentversions', '--signature', 'acme', ...how, `${path}//${SHOP}:1.0.0`)
  }

  async function verified(
    repositoryContext: object,
    keys: TrustedKeys,
    signatureName = 'acme',
    client?: RegistryClient,
  ) {
    const verification = { signatureName, keys }
    const scope = await resolveShop(repositoryContext, { verification, ...(client !== undefined && { client }) })
    return await contentOf(scope, 'cd://componentReferences/db/resources/note')
  }
  const archive = (filePath: string) => ({ type: 'CommonTransportFormat', filePath })

  beforeAll(() => {
    for (const name of ['acme', 'other']) run('create', 'rsakeypair', `${name}.priv`, `${name}.pub`)
    run('create', 'rsakeypair', '--ca', 'ca.priv', 'ca.cert', 'CN=root')
    run('create', 'rsakeypair', '--ca-cert', 'ca.cert', '--ca-key', 'ca.priv', 'signer.priv', 'signer.cert', 'CN=acme')
  })

  it.each([
    ['v2', 'jsonNormalisation/v1', []],
    ['v2', 'jsonNormalisation/v2', ['--hash', 'SHA-512']],
    ['ocm.software/v3alpha1', 'jsonNormalisation/v1', ['--recursive']],
    ['ocm.software/v3alpha1', 'jsonNormalisation/v2', ['--algorithm', 'RSASSA-PSS']],
  ])('are taken from a transport archive, also a packed one: %s, %s, %j', async (schema, normalisation, how) => {
    const path = `signed-${schema.slice(-2)}-${normalisation.slice(-2)}`
    make(path, schema, '--private-key', 'acme.priv', '--normalization', normalisation, ...how)
    expect(await verified(archive(path), byKey('acme.pub'))).toBe(NOTE)
    for (const type of ['tar', 'tgz']) {
      run('transfer', 'commontransportarchive', '--type', type, path, `./${path}.${type}`)
      expect(await verified(archive(`${path}.${type}`), byKey('acme.pub'))).toBe(NOTE)
    }
    await expect(verified(archive(path), byKey('other.pub'))).rejects.toThrow('the key of other.pub did not create it')
    await expect(verified(archive(path), byKey('acme.pub'), 'b')).rejects.toThrow('found signatures acme; expected it')
  })

  it('are taken by the authority that has issued the certificate of the signer', async () => {
    make('issued', 'v2', '--private-key', 'signer.priv', '--public-key', 'signer.cert', '--ca-cert', 'ca.cert')
    const by = (name: string) => ({ publicKey: undefined, authorities: key(name) })
    expect(await verified(archive('issued'), by('ca.cert'))).toBe(NOTE)
    run('create', 'rsakeypair', '--ca', 'ca2.priv', 'ca2.cert', 'CN=root')
    await expect(verified(archive('issued'), by('ca2.cert'))).rejects.toThrow('which is not trusted')
  })

  it('are taken from a registry, also from one with TLS for those with a password, and refused when changed there', async () => {
    make('pushed', 'v2', '--private-key', 'acme.priv')
    const authority = await Authority.make('registry')
    const closed = await OciRegistry.start({ auth: 'basic', tls: await authority.issue('localhost') })
    try {
      const consumer = { type: 'OCIRegistry', hostname: 'localhost', port: new URL(closed.url).port }
      const credentials = [{ type: 'Credentials', properties: { ...READER, certificateAuthority: authority.cert } }]
      const config = {
        type: 'credentials.config.ocm.software',
        consumers: [{ identity: consumer, credentials }],
      }
      writeFileSync(join(folder, '.ocmconfig'), JSON.stringify(config))
      run('--config', '.ocmconfig', 'transfer', 'commontransportarchive', 'pushed', `${closed.url}/signed`)
      const client = registries.of({ namespace: 'n' }, [readOcmConfig(config, 'test')])
      expect(await verified(oci(`${closed.url}/signed`), byKey('acme.pub'), 'acme', client)).toBe(NOTE)
    } finally {
      await closed.stop()
    }
    run('transfer', 'commontransportarchive', 'pushed', `${registry.url}/signed`)
    const open = oci(`${registry.url}/signed`)
    expect(await verified(open, byKey('acme.pub'))).toBe(NOTE)
    // Another user pushes the same versions with other content.
    push('forged', [component(DB, '2.0.0', 'evil')], 'v2')
    run('transfer', 'commontransportarchive', '--overwrite', 'forged', `${registry.url}/signed`)
    const late = createRegistries({ allow: ['127.0.0.1'], now: () => new Date() })
    try {
      const forged = verified(open, byKey('acme.pub'), 'acme', late.of({ namespace: 'n' }, []))
      await expect(forged).rejects.toThrow(`component ${SHOP}:1.0.0: reference db to ${DB}:2.0.0: found the digest`)
    } finally {
      await late.close()
    }
  })
})
