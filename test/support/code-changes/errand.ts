// The controller of errands with a step more, before the one that calls: a run that waits for its call does not fit.

import { action, done } from 'pawl/kit'

import { errandController, type ErrandPass } from '../level/errand.ts'

const lookAgain = action<ErrandPass>('lookAgain', async (pass) => {
  await pass.refresh('note')
  return done
})

export const controllers = [errandController(lookAgain)]
