// On pages for somebody who is not known, or not any more: what was marked and never sent goes with the person.
import { forgetAll } from "./ballot.js";

forgetAll();
