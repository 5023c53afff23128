// Presses keys: of each step "press", "forget" or milliseconds that pass, what it answered and said.
import { mock } from 'node:test';
import { Twice } from '../../labextension/src/twice.ts';

mock.timers.enable({ apis: ['setTimeout'] });
let said = '';
const twice = new Twice(sentence => (said = sentence));
const does = { press: () => twice.press('again'), forget: () => twice.forget() };
const told = JSON.parse(process.argv[2]).map(step => {
  const answer = does[step] ? does[step]() : mock.timers.tick(step);
  return [answer ?? null, said];
});
process.stdout.write(JSON.stringify(told));
