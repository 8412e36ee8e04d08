import { describe, expect, it } from 'vitest'

import { buildName } from '../../../worker/reconciler/temporal/bundle.ts'

const code = (folder: string, map: string, action = '1') =>
  `"../../tmp/${folder}/workflows.js": () => { ${action} }\n//# sourceMappingURL=data:application/json;base64,${map}`

describe('the name of a build', () => {
  it('is the same for the same code, in whatever folder it was bundled', () => {
    expect(buildName(code('pawl-bundle-Ab12cd', 'eA=='))).toBe(buildName(code('pawl-bundle-Ef34gh', 'eQ==')))
  })

  it('is another one for other code', () => {
    expect(buildName(code('pawl-bundle-Ab12cd', 'eA=='))).not.toBe(buildName(code('pawl-bundle-Ab12cd', 'eA==', '2')))
  })
})
