import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

import { compile } from '../../../../workflows/kit/dsl/index.ts'
import { KUBERNETES_KINDS } from '../../../../workflows/kit/dsl/kind-facts.ts'
import { lookup, OPTIONS } from './documents.ts'

const MODULES = fileURLToPath(new URL('../../../../workflows/kit/kind/kubernetes', import.meta.url))

function compiled(text: string) {
  const { code, diagnostics } = compile(text, { ...OPTIONS, lookup })
  return { code: code ?? '', said: diagnostics.map(({ code: said, message }) => `${said} ${message}`) }
}

describe('the kinds that documents use without an alias', () => {
  it('are the kinds for which the kit has types', async () => {
    const files = await readdir(MODULES, { recursive: true })
    const found = files
      .filter((file) => file.endsWith('.ts'))
      .map(async (file) => {
        const source = await readFile(`${MODULES}/${file}`, 'utf8')
        const kinds = [...source.matchAll(/^export type (\w+) =/gm)].map(([, kind = '']) => kind)
        return [file.replace(/\.ts$/, ''), kinds.join(' ')] as const
      })
    expect(Object.fromEntries(await Promise.all(found))).toEqual(KUBERNETES_KINDS)
  })

  it('use the types of the kit, or of a bound module', () => {
    const controller =
      'decl Shop for Deployment { state { pods []Pod { owned } jobs []Work { owned } } action { A(pods, jobs) } }'
    const { code, said } = compiled(`alias Work batch/v1/Job\n${controller}`)
    expect(said).toEqual([])
    expect(code).toContain("import type { Deployment } from 'pawl/kit/apps/v1'")
    expect(code).toContain("import type { Job as Work } from 'pawl/kit/batch/v1'")
    expect(code).toContain("import type { Pod } from 'pawl/kit/v1'")
    expect(code).toContain("kind: 'v1/Pod'")
    expect(compiled(`bind apps/v1 ./apps.ts\nalias Work batch/v1/Job\n${controller}`).code).toContain(
      "from './apps.ts'",
    )
  })

  it('can be replaced by an alias of their name', () => {
    const controller = 'decl Shop for Pod { action { A() } }'
    expect(compiled(`bind example.com/v1 ./kind.ts\nalias Pod example.com/v1/Pod\n${controller}`).code).toContain(
      "import type { Pod } from './kind.ts'",
    )
    expect(compiled('alias Lease v1/Lease\ndecl Shop for Lease { action { A() } }').said).toEqual([
      "CM022 'v1' is not bound to a module; add 'bind v1 MODULE'",
    ])
  })
})

describe('a name among other selectors', () => {
  it('can select a list, can be combined with labels, and can select in all namespaces', () => {
    const states = 'all []Pod { name=a namespace=* } one Pod { name=a labels/b=c }'
    const { code, said } = compiled(`decl Shop for Deployment { state { ${states} } action { A(all, one) } }`)
    expect(said).toEqual([])
    expect(code).toContain("all: { kind: 'v1/Pod', many: true, name: 'a', namespace: '*' }")
    expect(code).toContain("one: { kind: 'v1/Pod', name: 'a', labels: { b: 'c' } }")
  })
})
