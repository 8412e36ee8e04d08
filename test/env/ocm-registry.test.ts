// Components that the real command line of OCM has made and pushed to a real registry. Source: spec/landscaper.md 1.2; OCM v0.11.0.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRegistries } from '../../activities/landscaper/components/registries.ts'
import { resolveComponents } from '../../activities/landscaper/components/resolve-components.ts'
import { resourceAt } from '../../activities/landscaper/render/component-scope.ts'
import { childEnvironment } from '../../worker/server/config.ts'
import { data } from '../activities/landscaper/tenant-data.ts'
import { BLUEPRINT_TYPE } from '../support/component-registry.ts'
import { OciRegistry } from '../support/oci-registry.ts'
import { registryBinary } from '../support/registry-binaries.ts'

const [SHOP, DB] = ['example.com/shop', 'example.com/db']
const folder = mkdtempSync(join(tmpdir(), 'pawl-ocm-'))
const registries = createRegistries({ allow: ['127.0.0.1'], now: () => new Date() })
let registry: OciRegistry
let ocm: string

// Where nothing could be downloaded before, the command line is built.
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
  ...{ name, type: 'text', relation: 'local', version: '1.0.0' },
  input: { type: 'utf8', text: content, mediaType: 'text/plain' },
})

async function contentOf(scope: Awaited<ReturnType<typeof resolveComponents>>, uri: string): Promise<string> {
  const content = await scope.contentOf(resourceAt(scope, uri))
  return 'bytes' in content ? content.bytes.toString() : 'a folder'
}

describe('components that OCM has pushed', () => {
  it.each([
    ['v2', 'two', '1.0.0'],
    ['v3alpha1', 'three', '1.0.0+build'],
  ])('are read with their resources in the schema %s', async (schema, prefix, version) => {
    writeFileSync(join(folder, 'blueprint.yaml'), 'kind: Blueprint')
    const blueprint = {
      ...{ name: 'blueprint', type: BLUEPRINT_TYPE, relation: 'local', version: '1.0.0' },
      input: { type: 'dir', path: '.', includeFiles: ['blueprint.yaml'], compress: true },
    }
    const references = [{ name: 'db', componentName: DB, version: '2.0.0' }]
    push(
      prefix,
      [
        {
          ...{ name: SHOP, version, provider },
          resources: [text('note', 'made by OCM'), blueprint],
          componentReferences: references,
        },
        { name: DB, version: '2.0.0', provider, resources: [text('note', 'of the database')] },
      ],
      schema === 'v2' ? 'v2' : 'ocm.software/v3alpha1',
    )
    const scope = await resolveComponents(data, {
      definition: { ref: { componentName: SHOP, version } },
      repositoryContext: { type: 'OCIRegistry', baseUrl: `${registry.url}/${prefix}` },
      ...{ context: 'default', registryFolder: undefined },
      registries: () => Promise.resolve(registries.of({ namespace: 'n' }, [])),
    })
    expect(scope.all.map(({ name }) => name)).toEqual([SHOP, DB])
    expect(await contentOf(scope, 'cd://resources/note')).toBe('made by OCM')
    expect(await contentOf(scope, 'cd://componentReferences/db/resources/note')).toBe('of the database')
    const packed = await scope.contentOf(resourceAt(scope, 'cd://resources/blueprint'))
    expect('bytes' in packed ? await data.archive(packed.bytes) : {}).toMatchObject({
      'blueprint.yaml': 'kind: Blueprint',
    })
  })
})
