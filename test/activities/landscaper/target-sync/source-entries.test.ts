// The limits of the entries that a TargetSync reads from its source. Source: spec/landscaper.md 1.9.

import { describe, expect, it } from 'vitest'

import type { LandscaperDeps } from '../../../../activities/landscaper/deps.ts'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'
import { sourceEntries } from '../../../../activities/landscaper/target-sync/source-entries.ts'

const deps = { landscaper: { templates: createTemplateEngine({ threads: 1 }) } } as LandscaperDeps
const SPEC = { sourceNamespace: 'garden-x', secretRef: { name: 'access' } }

describe('the entries of a source', () => {
  /** Pages for a client that reads as they come. */
  function sourceOf(count: number, bytes: number, nameOf: (index: number) => string) {
    const kubeconfig = 'a'.repeat(bytes)
    const request = (_method: string, _path: string, { query }: { query: Record<string, string> }) => {
      const [from, limit] = [Number(query['continue'] ?? 0), Number(query['limit'])]
      const items = Array.from({ length: Math.min(limit, count - from) }, (_, index) => ({
        metadata: { name: nameOf(from + index) },
        data: { kubeconfig },
      }))
      const next = from + items.length
      return Promise.resolve({ metadata: next < count ? { continue: String(next) } : {}, items })
    }
    return { cluster: { kube: { request } }, signal: new AbortController().signal } as never
  }

  it('count only when they match, up to 32 MiB', async () => {
    const spec = { ...SPEC, secretNameExpression: '^c0$' }
    const oneOf = sourceOf(100, 1024 * 1024, (index) => `c${index}`)
    expect(await sourceEntries(deps, { namespace: 'n', spec }, oneOf)).toMatchObject([{ name: 'c0' }])
    const all = sourceEntries(deps, { namespace: 'n', spec: { ...SPEC, secretNameExpression: '^c' } }, oneOf)
    await expect(all).rejects.toThrow('spec.secretNameExpression: found more than 32 MiB of kubeconfigs')
  })

  it('are accepted up to 1000', async () => {
    const spec = { ...SPEC, secretNameExpression: '*' }
    const names = sourceOf(1001, 1, (index) => `c${index}`)
    await expect(sourceEntries(deps, { namespace: 'n', spec }, names)).rejects.toThrow(
      'found more than 1000 names that match',
    )
  })
})
